// A record-v2 program in another language: takes the lock of argv[2] as such programs do, says "held",
// and holds it until a line comes, or it is killed. "busy" if somebody else has it.
'use strict';
const fs = require('fs'), os = require('os'), crypto = require('crypto');

const processStart = Math.round(Date.now() - process.uptime() * 1000);

function machineID() {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try { return fs.readFileSync(path, 'utf8').trim(); } catch (e) { /* the next one */ }
  }
  return '';
}

const lock = process.argv[2] + '.lock';
const hostId = crypto.createHash('sha256').update(os.hostname() + '|' + machineID()).digest('hex').slice(0, 32);
const record = JSON.stringify({
  v: 2, lease: crypto.randomBytes(24).toString('hex'), owner: crypto.randomBytes(8).toString('hex'),
  pid: process.pid, processStart, hostId, bootStart: Math.round(Date.now() - os.uptime() * 1000), fence: 0,
  createdAt: new Date().toISOString(),
});

let fd;
try {
  fd = fs.openSync(lock, 'wx', 0o600);
} catch (e) {
  console.log(e.code === 'EEXIST' ? 'busy' : e.code);
  process.exit(0);
}
fs.writeSync(fd, record);
fs.fsyncSync(fd);
fs.closeSync(fd);
console.log('held');
process.stdin.once('data', () => {
  const mine = fs.readFileSync(lock, 'utf8') === record;
  if (mine) fs.unlinkSync(lock);
  console.log(mine ? 'released' : 'lost');
  process.exit(0);
});
process.stdin.once('end', () => process.exit(0));
