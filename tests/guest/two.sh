# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# two.sh - for scripts that run in two guests; sourced when a guest is ready. Guest 1 does what it is told until guest
# 0 has ended, and does not come back from here. Guest 0 has ./ssh, as a launcher wants it (10.77.0.2 is guest 1).

mkdir -p /tmp/two && cd /tmp/two || exit 1	# a job's ranks have one working folder
bb=$CACHE/6.1/root/bin/busybox
# Commands for this guest from the other, as ssh would bring them. nc ignores SIGCHLD, Hydra's proxy needs it.
printf '#!/bin/bash\nread -r line\nexec env --default-signal=CHLD bash -c "$line"\n' >from_other
chmod +x from_other
$bb nc -ll -p 2222 -e "$PWD/from_other" &
listener=$!
if [ "$GUEST" = 1 ]; then
	echo >"$SHARED/ready"
	until [ -e "$SHARED/over" ]; do		# the whole run has a time limit
		sleep 0.3
	done
	kill $listener
	[ "$(type -t guest_end)" != function ] || guest_end
	finish
fi
trap 'echo >"$SHARED/over"; kill $listener' EXIT
until [ -e "$SHARED/ready" ]; do
	sleep 0.3
done
cat >ssh <<'END'
#!/bin/bash
# options HOST COMMAND...: nothing is read for it, and it lasts as long as the other side does
while :; do
	case $1 in
	-o) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
host=$1
shift
exec 3<>/dev/tcp/$host/2222
printf '%s\n' "$*" >&3
exec cat <&3
END
chmod +x ssh
