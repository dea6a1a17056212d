#!/bin/bash
# with-binfmt.sh CMD…: runs CMD where the kernel starts arm64, riscv64 and s390x programs under
# qemu-user-static, also those that CMD starts. It needs no rights and changes nothing outside: the
# registration lives in a user and mount namespace of its own (Linux 6.7 or later). CMD runs in
# another one below it, as user 1000, for the root of a namespace looks like root to tests and is not.
set -euo pipefail
case ${1:-} in
'') echo "usage: with-binfmt.sh CMD…" >&2; exit 2 ;;
--inside) shift ;;
*) exec unshare --user --map-root-user --mount -- bash "${BASH_SOURCE[0]}" --inside "$@" ;;
esac

binfmt=/proc/sys/fs/binfmt_misc
mount -t binfmt_misc binfmt_misc "$binfmt" || {
	echo "with-binfmt.sh: needs Linux 6.7 or later, this is $(uname -r)" >&2
	exit 1
}

# register NAME MAGIC MASK INTERPRETER; F opens the interpreter now, whatever CMD's root is later
register() { printf '%s' ":$1:M::$2:$3:$4:F" >"$binfmt/register"; }

# ELF headers: class, byte order, type (program or shared), machine
little='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
big='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff'
elf64le='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00'
elf64be='\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02'
register aarch64 "$elf64le"'\xb7\x00' "$little" /usr/bin/qemu-aarch64-static
register riscv64 "$elf64le"'\xf3\x00' "$little" /usr/bin/qemu-riscv64-static
register s390x "$elf64be"'\x00\x16' "$big" /usr/bin/qemu-s390x-static

exec unshare --user --map-user=1000 --map-group=1000 -- "$@"
