// A stand-in for the record-v2 programs in JavaScript: their transaction loop, written anew from what
// their files show. Several processes run it on one state for a time.
//
//   node transactions.mjs STATE SECONDS [flush-directory]
//
// With flush-directory the state survives a power cut, which theirs need not: the directory is flushed
// after the rename.
//
// It prints "TRANSACTIONS BUSY CPU": how many it committed, how often the lock was somebody else's, and
// the nanoseconds of processor time that it took.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createHash, randomBytes } from 'node:crypto';

const [state, seconds] = [process.argv[2], Number(process.argv[3])];
const lock = state + '.lock';
const owner = randomBytes(8).toString('hex');
const processStart = Math.round(Date.now() - process.uptime() * 1000);
const bootStart = Math.round(Date.now() - os.uptime() * 1000);

function machineId() {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      return fs.readFileSync(file, 'utf8').trim();
    } catch { /* the next one */ }
  }
  return '';
}

const hostId = createHash('sha256').update(`${os.hostname()}|${machineId()}`).digest('hex').slice(0, 32);

function readFence() {
  try {
    return Number(fs.readFileSync(state + '.fence', 'utf8').trim());
  } catch {
    return 0;
  }
}

// create writes a file that must not exist, durably.
function create(file, text) {
  const fd = fs.openSync(file, 'wx', 0o600);
  try {
    fs.writeSync(fd, text);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function flush(directory) {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

// transaction returns false when somebody else has the lock.
function transaction() {
  const record = JSON.stringify({
    v: 2, lease: randomBytes(24).toString('hex'), owner, pid: process.pid, processStart, hostId,
    bootStart, fence: readFence(), createdAt: new Date().toISOString(),
  });
  try {
    create(lock, record);
  } catch (err) {
    if (err.code === 'EEXIST') return false;
    throw err;
  }
  const mine = () => fs.readFileSync(lock, 'utf8') === record;
  if (!mine()) throw new Error('the lock is not what was written');
  let count = 0;
  try {
    count = JSON.parse(fs.readFileSync(state, 'utf8')).count;
  } catch { /* the first */ }
  const temp = path.join(path.dirname(state), `.${path.basename(state)}.${process.pid}`);
  if (!mine()) throw new Error('lost before the write');
  create(temp, JSON.stringify({ count: count + 1 }));
  fs.renameSync(temp, state);
  if (process.argv[4] === 'flush-directory') flush(path.dirname(state));
  if (!mine()) throw new Error('lost after the write');
  fs.unlinkSync(lock);
  return true;
}

const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
let transactions = 0;
let busy = 0;
console.log('ready');
fs.readSync(0, Buffer.alloc(3));
const before = process.cpuUsage();
for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
  if (transaction()) {
    transactions++;
  } else {
    busy++;
    sleep(Math.random() * 2);
  }
}
const cpu = process.cpuUsage(before);
console.log(transactions, busy, (cpu.user + cpu.system) * 1000);
