#!/bin/bash
# Installs Debian trixie's Wine 10 into a folder of its own on Debian or Ubuntu
# (no chroot, no change to the host's libc or apt sources) and prepares a prefix
# for console programs. Idempotent. Prints the path of the `go test -exec` wrapper.
# As root, where patchelf or Debian's keys are missing: it installs them.
#
#   WINE_HOME   where everything goes (default: ~/.cache/gowine)
set -euo pipefail
WINE_HOME=${WINE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/gowine}
STAMP=2                                    # raise when this script changes what it lays down
PKGS=(wine64 libwine libc6 libunwind8 liblzma5 libgcc-s1 libz-mingw-w64)
ROOT=$WINE_HOME/root PREFIX=$WINE_HOME/prefix
say() { echo "setup-wine: $*" >&2; }
mkdir -p "$(dirname "$WINE_HOME")"; exec 8>"$WINE_HOME.lock"; flock 8      # one setup at a time

if [ "$(cat "$WINE_HOME/stamp" 2>/dev/null)" != "$STAMP" ]; then
  rm -rf "$WINE_HOME"; mkdir -p "$ROOT" "$WINE_HOME/bin"
  command -v apt-get >/dev/null || { say "needs apt-get, as Debian and Ubuntu have it"; exit 1; }
  KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg MISSING=()
  command -v patchelf >/dev/null || MISSING+=(patchelf)
  [ -r "$KEYRING" ] || MISSING+=(debian-archive-keyring)
  [ ${#MISSING[@]} = 0 ] || {
    say "installing ${MISSING[*]}"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${MISSING[@]}" >/dev/null
  }
  # apt with its own lists, sources and cache: the machine's apt does not see trixie
  A=$WINE_HOME/apt; mkdir -p "$A/lists/partial" "$A/cache/archives/partial" "$A/debs"
  # the same Debian mirror that this machine already uses, if it does
  # shellcheck disable=SC2016 # apt fills it in
  MIRROR=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1) || true
  MIRROR=${MIRROR:-http://deb.debian.org/debian/}
  cat > "$A/trixie.sources" <<S
Types: deb
URIs: $MIRROR
Suites: trixie
Components: main
Architectures: amd64
Signed-By: $KEYRING
S
  APT=(-qq -o "Dir::Etc::sourcelist=$A/trixie.sources" -o Dir::Etc::sourceparts=/nonexistent
       -o "Dir::State::lists=$A/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$A/cache"
       -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
       -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
       -o APT::Sandbox::User=root -o Acquire::Retries=3)
  say "downloading wine from trixie"
  apt-get "${APT[@]}" update
  (cd "$A/debs" && apt-get "${APT[@]}" download "${PKGS[@]}")
  say "unpacking"
  for d in "$A"/debs/*.deb; do dpkg-deb --fsys-tarfile "$d" | tar -x -C "$ROOT" --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'; done
  rm -rf "$A"
  # trixie's glibc for these two programs only
  LIBS=$ROOT/usr/lib/x86_64-linux-gnu
  for p in wine64 wineserver64; do
    patchelf --set-interpreter "$LIBS/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$LIBS" "$ROOT/usr/lib/wine/$p"
  done
  # three quarters of the DLLs is debug info, and a prefix is a copy of them all
  if command -v strip >/dev/null && strip --info 2>/dev/null | grep -q pei-x86-64; then
    find "$LIBS/wine/x86_64-windows" -type f -print0 | xargs -0 -P2 -n40 strip --strip-debug 2>/dev/null || true
  fi
  # what libwine's postinst does: zlib1.dll with the mark that makes Wine take it for one of its own
  Z=$ROOT/usr/x86_64-w64-mingw32/lib/zlib1.dll
  { head -c 64 "$Z"; printf 'Wine builtin DLL'; head -c 16 /dev/zero; tail -c +97 "$Z"; } > "$LIBS/wine/x86_64-windows/zlib1.dll"
  rm -rf "$ROOT"/usr/i686-w64-mingw32
  # the server looks for share/wine/wine/nls beside itself before it falls back to the host's /usr/share/wine/nls
  ln -sfn . "$ROOT/usr/share/wine/wine"
  # Debian's /usr/lib/wine/wineserver is a script with absolute paths: it would start the host's own server
  ln -sf wineserver64 "$ROOT/usr/lib/wine/wineserver"
  cat > "$WINE_HOME/bin/wine-env" <<S
# sourced by the scripts beside it
export WINEPREFIX="\${WINEPREFIX:-$PREFIX}" WINEDEBUG="\${WINEDEBUG:--all}" WINEARCH=win64
export WINEDLLOVERRIDES="\${WINEDLLOVERRIDES:-winemenubuilder.exe,mscoree,mshtml=}"
export WINESERVER="$ROOT/usr/lib/wine/wineserver64"
WINE="$ROOT/usr/lib/wine/wine64"
unset DISPLAY WAYLAND_DISPLAY WINELOADER
S
  cat > "$WINE_HOME/bin/wine-start" <<'S'
#!/bin/bash
# Starts this prefix's server and services, and one idle process that keeps them up, with no inherited
# descriptor: the first Windows program would otherwise hand its stderr to services.exe, and 'go test'
# waits for that pipe to close. As root, without the capability that makes read-only files writable.
. "$(dirname "$0")/wine-env"
mkdir -p "$WINEPREFIX"; exec 9>"$WINEPREFIX/.keeper.lock"; flock 9
pid=$(cat "$WINEPREFIX/.keeper.pid" 2>/dev/null) && grep -qa 'cmd\.exe' "/proc/$pid/cmdline" 2>/dev/null && exit 0
[ -p "$WINEPREFIX/.keeper.fifo" ] || mkfifo "$WINEPREFIX/.keeper.fifo"
PRE=; [ "$(id -u)" = 0 ] && [ -z "${GOWINE_ROOTCAPS:-}" ] && PRE="setpriv --bounding-set=-dac_override,-dac_read_search"
cd /
for fd in /proc/self/fd/*; do   # the server and its services outlive whoever calls: they keep nothing of theirs open
  fd=${fd##*/}; [ "$fd" -gt 2 ] && [ "$fd" != 9 ] && [ "$fd" != 255 ] && eval "exec $fd>&-" 2>/dev/null
done
setsid $PRE "$WINE" 'C:\windows\system32\cmd.exe' /c exit </dev/null >/dev/null 2>&1 9>&-   # server and services are up when this returns
setsid $PRE "$WINE" 'C:\windows\system32\cmd.exe' 0<>"$WINEPREFIX/.keeper.fifo" >/dev/null 2>&1 9>&- &
echo $! >"$WINEPREFIX/.keeper.pid"
S
  cat > "$WINE_HOME/bin/wine-exec" <<'S'
#!/bin/bash
# go test -exec: runs a Windows console program under Wine
D=$(dirname "$(readlink -f "$0")"); . "$D/wine-env"
"$D/wine-start"
exec "$WINE" "$@"
S
  cat > "$WINE_HOME/bin/wine-stop" <<'S'
#!/bin/bash
# ends every Windows process and the server of this prefix at once: also a test's "power cut" or reboot
. "$(dirname "$0")/wine-env"
"$WINESERVER" -k; rm -f "$WINEPREFIX/.keeper.pid"; "$WINESERVER" -w
S
  chmod +x "$WINE_HOME"/bin/wine-*
  say "creating the prefix"
  # shellcheck source=/dev/null
  if ! (. "$WINE_HOME/bin/wine-env"; timeout 300 "$WINE" wineboot.exe -i) >"$WINE_HOME/wineboot.log" 2>&1 8>&-; then
    cat "$WINE_HOME/wineboot.log" >&2; "$WINE_HOME/bin/wine-stop" || true; say "wineboot failed"; exit 1
  fi
  "$WINE_HOME/bin/wine-stop" || true
  echo "$STAMP" > "$WINE_HOME/stamp"
fi
echo "$WINE_HOME/bin/wine-exec"
