#!/bin/bash
# tools.sh [GROUP…]: installs the Debian packages that the checks need and this machine lacks.
# Groups: base (default), qemu. As root, or with a sudo that asks nothing. What is there stays.
set -euo pipefail

missing=()
# need COMMAND PACKAGE
need() { command -v "$1" >/dev/null || missing+=("$2"); }

[ $# -gt 0 ] || set -- base
for group in "$@"; do
	case $group in
	base)
		need git git
		need gcc gcc                # the race detector
		need jq jq                  # looks at --json
		need strace strace          # tests that fail system calls
		need unshare util-linux     # tests in namespaces of their own
		need setpriv util-linux
		need flock util-linux
		need mount mount
		need mkfs.ext4 e2fsprogs    # tests on filesystems of their own
		need zip zip                # archives of a release
		need shellcheck shellcheck
		# gcc alone is not enough: the race detector links against libc
		echo 'int main(void) { return 0; }' | gcc -x c -o /dev/null - 2>/dev/null || missing+=(libc6-dev)
		;;
	qemu)
		need qemu-aarch64-static qemu-user-static
		need unshare util-linux
		;;
	*)
		echo "tools.sh: there is no group $group: base, qemu" >&2
		exit 2
		;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "tools.sh: install these by hand, there is no apt-get here: ${missing[*]}" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then sudo='sudo -n'; fi
echo "tools.sh: installing ${missing[*]}" >&2
# shellcheck disable=SC2086 # two words or none
$sudo apt-get -q -o Acquire::Retries=3 update >&2
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 install -y \
	--no-install-recommends "${missing[@]}" >&2
