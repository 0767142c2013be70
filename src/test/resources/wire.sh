#!/bin/sh
# A wire between two soft-RoCE devices of one kernel, wire1 and wire2, that packets really go over: each address is local
# only to what arrives by the wire, so that the way to the other leads there. 'wire.sh cut' lays two wires, to m1 and to m2,
# and leaves it to the caller to carry packets between these. 'wire.sh down' takes all back.
set -e

end() { # NUMBER OTHER
    echo 1 > "/proc/sys/net/ipv4/conf/w$1/accept_local"
    echo 0 > "/proc/sys/net/ipv4/conf/w$1/rp_filter"
    ip addr add "10.8.0.$1/32" dev "w$1"
    ip link set "w$1" up
    ip rule add pref "1$1" iif "w$1" lookup "10$1"
    ip route add local "10.8.0.$1" dev "w$1" table "10$1"
    ip neigh replace "10.8.0.$2" lladdr "$(cat "/sys/class/net/w$2/address")" dev "w$1" nud permanent
}

if [ "${1:-}" = down ]; then
    for n in 1 2; do
        rdma link delete "wire$n" || true
        ip rule del pref "1$n" || true
        ip route flush table "10$n" || true
    done
    ip link delete w1
    if [ -e /sys/class/net/w2 ]; then ip link delete w2; fi
    exit
fi
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
if [ "${1:-}" = cut ]; then
    for n in 1 2; do
        ip link add "w$n" type veth peer name "m$n"
        ip link set "m$n" up
    done
else
    ip link add w1 type veth peer name w2
fi
ip link set w1 up
ip link set w2 up
end 1 2
end 2 1
ip route add 10.8.0.2 dev w1 src 10.8.0.1
ip route add 10.8.0.1 dev w2 src 10.8.0.2
rdma link add wire1 type rxe netdev w1
rdma link add wire2 type rxe netdev w2
ip route del local 10.8.0.1 dev w1 table local
ip route del local 10.8.0.2 dev w2 table local
