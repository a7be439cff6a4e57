#!/bin/busybox sh
# The guest's first process: modules, the host's /usr over 9p, hugepages; then the tests.
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
mkdir -p /proc /sys /dev /new
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module" || echo "init: $module is not loaded"; done

word() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
source=$(word source)
build=$(word build)

mount -t tmpfs -o mode=755 new /new
cd /new || exit 1
mkdir -p usr proc sys dev tmp run var/log root etc result ".$source" ".$build"
for folder in bin sbin lib lib64; do ln -s usr/$folder $folder; done
cp -a /etc/. etc/
ln -s /run var/run
shared() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "/new/$2"; }
shared usr usr ro,cache=loose && shared source "$source" ro,cache=loose &&
  shared result result rw || { echo "init: no files from the host"; poweroff -f; }
# A build folder within the source is there already.
[ -e "/new$build/build.ninja" ] || shared build "$build" ro,cache=loose
# DPDK opens each driver that is installed, some hundred of them.
drivers=$(echo usr/lib/*/dpdk/pmds-*)
mkdir drivers
for driver in bus_pci bus_vdev mempool_ring net_e1000 net_null net_virtio net_vmxnet3; do
  cp -a "$drivers"/librte_$driver.so.* drivers/
done
mount -o bind drivers "$drivers"
for folder in proc sys dev; do mount -o move /$folder $folder; done
mkdir -p dev/pts dev/shm dev/hugepages
mount -t devpts pts dev/pts
mount -t tmpfs shm dev/shm
mount -t hugetlbfs huge dev/hugepages
for node in sys/devices/system/node/node[0-9]*; do
  echo 160 >"$node/hugepages/hugepages-2048kB/nr_hugepages"
done

eval "set -- $(cat result/arguments)"
export HECTO_BUILD="$build" HECTO_SLOWER=4
chroot . /usr/bin/python3 -m pytest -qx --no-header --tb=short --color=no -p no:cacheprovider \
  "$source/tests/numa" "$@"
echo $? >result/exit_code
sync
poweroff -f
