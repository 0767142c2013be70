package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertRefused;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_device_attr;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.EthernetAddress;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Questions to a device, and what the answers become. The provider gives answers that few devices give. */
@FencedTest
class ContextQueriesTest {

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Arena scratch = Arena.ofConfined();
    private final Context context = TestDevice.get().open(arena);

    /** A call that has kept the context open would wait here for ever. */
    @AfterEach
    void close() {
        context.close();
        arena.close();
        scratch.close();
    }

    // Devices

    @Test
    void attributesOfAnOlderLibraryHaveNoLaterFields() {
        for (int errno : new int[] {Errno.EOPNOTSUPP, Errno.ENOSYS}) {
            Fenced.fail("ibv_query_device_ex", 1, errno);
            DeviceAttributes attributes = context.attributes();
            assertThat(attributes.maxQueuePairs()).isEqualTo(1 << 16);
            assertThat(attributes.firmwareVersion()).isEqualTo("1.0");
            assertThat(attributes.timestampMask()).isZero();
            assertThat(attributes.coreClockKilohertz()).isZero();
            assertThat(attributes.onDemandPaging().isSupported()).isFalse();
        }
        assertThat(context.attributes().onDemandPaging().isSupported()).isTrue();
    }

    @Test
    void refusedQueryOfADeviceNamesTheFunctionThatWasCalled() {
        assertRefusedByC("ibv_query_device_ex(fenced0): EINVAL", context::attributes);
        Fenced.fail("ibv_query_device_ex", 1, Errno.EOPNOTSUPP);
        assertRefusedByC("ibv_query_device(fenced0): EINVAL", context::attributes);
    }

    @Test
    void deviceHasWhatTheListSays() {
        Device device = context.device();
        assertThat(device.index()).hasValue(0);
        assertThat(device.characterDevice()).isEqualTo("uverbs0");
        assertThat(device.driver()).isEmpty();
        assertThat(device).hasToString("fenced0: channel adapter, InfiniBand transport, GUID " + device.guid());
        assertThat(context).hasToString(device + " (open)");
        assertThat(context.attributes())
                .hasToString(
                        "node 0000:0000:0000:0000, firmware 1.0, 1 port, at most 65536 queue pairs of 16384 requests with 16 "
                                + "pieces each, 65536 completion queues of 65536, 65536 memory regions, atomics: HCA");
        assertThat(context.completionVectors()).isEqualTo(1);
        assertThat(context.commandDescriptor()).isPositive();
    }

    @Test
    void listOfDevicesIsFreed() {
        Fenced.calm();
        assertThat(Device.list()).hasSize(1);
        assertThat(Device.first()).isEqualTo(context.device());
        assertThat(Device.named("fenced0")).isEqualTo(context.device());
        assertThat(Fenced.calls("ibv_get_device_list")).isEqualTo(3);
        assertThat(Fenced.calls("ibv_free_device_list")).isEqualTo(3);
        Fenced.fail("ibv_get_device_list", 1, Errno.ENOSYS);
        assertThat(Device.list()).isEmpty();
        assertThat(Fenced.calls("ibv_free_device_list")).isEqualTo(3);
    }

    /** The property and the driver choose the way of calling C: this driver posts by a system call, and so may block. */
    @Test
    void callsOfADriverFollowTheProperty() {
        assertCalls(true, true, false);
        try {
            System.setProperty("dev.verbena.critical", "none");
            assertCalls(false, false, false);
            System.setProperty("dev.verbena.critical", "post");
            assertCalls(true, true, true);
        } finally {
            System.clearProperty("dev.verbena.critical");
        }
    }

    private void assertCalls(boolean calls, boolean polls, boolean posts) {
        DriverFunctions driver = DriverFunctions.of(context.device(), context.address());
        assertThat(driver.calls()).isSameAs(calls ? ExtendedCalls.CRITICAL : ExtendedCalls.PLAIN);
        assertThat(driver.pollsCritically(CompletionQueueOptions.PollingCalls.BY_DRIVER))
                .isEqualTo(polls);
        assertThat(driver.postsCritically()).isEqualTo(posts);
        assertThat(driver.software()).isTrue();
        assertThat(driver.forPosts()).isSameAs(driver.forPosts()).isSameAs(driver.forPolls(polls));
        assertThat(driver.forPosts()).isNotSameAs(driver.forSharedReceives()).isNotSameAs(driver.forPolls(!polls));
    }

    @Test
    void rawClockIsReadInNanoseconds() {
        assertThat(context.rawClock()).isEqualTo(5_000_000_007L);
        Fenced.answer("ibv_query_rt_values_ex", scratch.allocate(24, 8)); // no clock in the mask of the answer
        assertThrows(UnsupportedVerbException.class, "no clock that can be read", context::rawClock);
        assertRefusedByC("ibv_query_rt_values_ex(fenced0): EINVAL", context::rawClock);
    }

    // Ports

    private void answerPorts(int gids) {
        MemorySegment device = scratch.allocate(ibv_device_attr_ex.layout());
        ibv_device_attr.phys_port_cnt(ibv_device_attr_ex.orig_attr(device), (byte) 2);
        Fenced.answer("ibv_query_device_ex", device);
        MemorySegment port = scratch.allocate(ibv_port_attr.layout());
        ibv_port_attr.state(port, Port.State.ACTIVE.code());
        ibv_port_attr.gid_tbl_len(port, gids);
        ibv_port_attr.pkey_tbl_len(port, (short) 3);
        ibv_port_attr.port_cap_flags2(port, (short) 5);
        Fenced.answer("ibv_query_port", port);
    }

    @Test
    void portsAreAllPortsOfTheDevice() {
        answerPorts(4);
        assertThat(context.ports()).extracting(Port::number).containsExactly(1, 2);
        assertThat(context.port(2).gidTableLength()).isEqualTo(4);
        assertThat(context.port(2).capabilityFlags2())
                .as("a field that the exported function does not fill")
                .isEqualTo(5);
    }

    @Test
    void refusedPortNamesItsRange() {
        for (int number : new int[] {0, 2, 255}) {
            assertFails(
                    "ibv_query_port(fenced0, port " + number + "): EINVAL",
                    "Ports are numbered from 1 to 1",
                    () -> context.port(number));
        }
        assertRefused("ibv_query_port", Errno.EIO, () -> context.port(1))
                .hasMessageContaining("EIO")
                .hasMessageNotContaining("numbered");
        for (int number : new int[] {-1, 256, 257}) {
            Fenced.calm();
            assertIllegalArgument(String.valueOf(number), () -> context.port(number));
            assertIllegalArgument(() -> context.gid(number, 0));
            assertIllegalArgument(() -> context.gidEntry(number, 0));
            assertIllegalArgument(() -> context.pkey(number, 0));
            assertIllegalArgument(() -> context.pkeyIndex(number, 0xffff));
            assertThat(Fenced.calls("ibv_query_port")).isZero();
        }
    }

    @Test
    void speedOfAPortIsInMegabits() {
        assertThat(context.portSpeed(1)).isEqualTo(200_000);
        assertFails("ibv_query_port_speed(fenced0, port 2): EINVAL", () -> context.portSpeed(2));
    }

    // Tables

    @Test
    void gidsOfAllPortsFitIntoTheTable() {
        List<GidEntry> wanted = List.of(
                new GidEntry(Gid.parse("fe80::1"), 1, 0, GidEntry.Type.IB, ""),
                new GidEntry(Gid.parse("fe80::2"), 1, 1, GidEntry.Type.ROCE_V1, ""),
                new GidEntry(Gid.parse("::ffff:10.0.0.1"), 2, 0, GidEntry.Type.ROCE_V2, ""),
                new GidEntry(Gid.parse("::ffff:10.0.0.2"), 2, 1, GidEntry.Type.ROCE_V2, ""));
        answerPorts(2);
        answerGids(wanted);
        assertThat(context.gids()).isEqualTo(wanted);
        answerPorts(1); // the tables have grown meanwhile, to one entry more than was asked for
        answerGids(wanted.subList(0, 3));
        assertFails("ibv_query_gid_table(fenced0): EINVAL", context::gids);
        Fenced.fail("ibv_query_gid_table", 1, 1);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(context::gids);
    }

    private void answerGids(List<GidEntry> entries) {
        MemorySegment table = ibv_gid_entry.allocateArray(entries.size(), scratch);
        for (int i = 0; i < entries.size(); i++) {
            MemorySegment entry = ibv_gid_entry.asSlice(table, i);
            GidEntry wanted = entries.get(i);
            AddressCodec.writeGid(wanted.gid(), entry, ibv_gid_entry.gid$offset());
            ibv_gid_entry.port_num(entry, wanted.port());
            ibv_gid_entry.gid_index(entry, wanted.index());
            ibv_gid_entry.gid_type(entry, wanted.type().code());
        }
        Fenced.answer("ibv_query_gid_table", table);
    }

    /** From the best to the worst: RoCE v2, InfiniBand, others; of each, IPv4, global IPv6, link-local; the lowest index. */
    @Test
    void bestGidIsTheFirstOfItsOrder() {
        List<GidEntry> order = new ArrayList<>();
        int index = 20;
        for (GidEntry.Type type : List.of(GidEntry.Type.ROCE_V2, GidEntry.Type.IB, GidEntry.Type.ROCE_V1)) {
            for (String address : List.of("::ffff:10.0.0.1", "2001:db8::1", "fe80::1")) {
                order.add(new GidEntry(Gid.parse(address), 1, --index, type, ""));
            }
        }
        order.add(new GidEntry(Gid.parse("fe80::2"), 1, 20, GidEntry.Type.ROCE_V1, ""));
        GidEntry other = new GidEntry(Gid.parse("::ffff:10.0.0.2"), 2, 0, GidEntry.Type.ROCE_V2, "");
        GidEntry zero = new GidEntry(Gid.ZERO, 1, 0, GidEntry.Type.ROCE_V2, "");
        answerPorts(16);
        Random random = new Random(7);
        for (int first = 0; first < order.size(); first++) {
            List<GidEntry> left = new ArrayList<>(order.subList(first, order.size()));
            left.add(other);
            left.add(zero);
            Collections.shuffle(left, random);
            answerGids(left);
            assertThat(context.bestGid(1)).isEqualTo(order.get(first));
        }
        answerGids(List.of(other, zero));
        assertThat(context.bestGid(2)).isEqualTo(other);
        assertThrows(NoSuchElementException.class, "ip addr add", () -> context.bestGid(1))
                .hasMessageStartingWith("port 1 of fenced0 has no GID");
    }

    @Test
    void entriesOfTablesAreReadByIndex() {
        assertThat(context.gid(1, 0)).isEqualTo(Gid.parse("::ffff:10.9.9.1"));
        assertThat(context.gidEntry(1, 0))
                .contains(new GidEntry(Gid.parse("::ffff:10.9.9.1"), 1, 0, GidEntry.Type.ROCE_V2, ""));
        assertThat(context.gidEntry(1, 1)).as("an empty entry").isEmpty();
        assertFails("ibv_query_gid_ex(fenced0, port 2, index 3): EINVAL", () -> context.gidEntry(2, 3));
        assertThat(context.pkey(1, 0)).isEqualTo(0xffff);
        assertThat(context.pkey(1, 1)).isEqualTo(0x1234);
        assertThat(context.pkeyIndex(1, 0xffff)).hasValue(0);
        assertThat(context.pkeyIndex(1, 0x1234)).hasValue(1);
        assertThat(context.pkeyIndex(1, 0x3412)).isEmpty();
        for (int key : new int[] {-1, 0x10000}) {
            assertIllegalArgument(() -> context.pkeyIndex(1, key));
        }
    }

    @Test
    void entryOutsideATableNamesItsLength() {
        assertFails(
                "ibv_query_gid(fenced0, port 1, index 7): EINVAL",
                "This table has 1 entry, from index 0",
                () -> context.gid(1, 7));
        answerPorts(2);
        assertThrows(VerbsException.class, "This table has 2 entries, from index 0", () -> context.gid(1, 7));
        assertFails(
                "ibv_query_pkey(fenced0, port 1, index 8): ",
                "This table has 3 entries, from index 0",
                () -> context.pkey(1, 8));
    }

    @Test
    void destinationIsResolvedToItsEthernetAddress() {
        AddressVector path = AddressVector.of(1).serviceLevel(3);
        assertIllegalArgument("no GID to resolve", () -> context.resolve(path));
        AddressVector global = path.globalRoute(GlobalRoute.to(Gid.parse("fe80::1"), 0));
        assertThat(context.resolve(global)).isEqualTo(new EthernetAddress(0x0213_2435_4657L, 0x123));
        assertThat(ibv_ah_attr.sl(Fenced.given("ibv_resolve_eth_l2_from_gid"))).isEqualTo((byte) 3);
        assertRefusedByC(
                "ibv_resolve_eth_l2_from_gid(fenced0, " + global + "): ETIMEDOUT",
                "on the network of this GID",
                () -> context.resolve(global));
    }

    // Contexts of others

    private static long openFiles() throws Exception {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        }
    }

    @Test
    void refusedImportSaysWhatTheDescriptorIsNotAndClosesItsCopy() throws Exception {
        int descriptor = context.commandDescriptor();
        for (int errno : new int[] {Errno.EINVAL, Errno.ENODEV, Errno.EOPNOTSUPP}) {
            long before = openFiles();
            Fenced.fail("ibv_import_device", 1, errno);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> Context.importDevice(descriptor, arena))
                    .withMessageStartingWith("ibv_import_device(file descriptor " + descriptor + "): ")
                    .satisfies(refused -> assertThat(refused.getMessage().contains("not an RDMA device's"))
                            .isEqualTo(errno != Errno.EOPNOTSUPP));
            assertThat(openFiles()).isEqualTo(before);
        }
        assertIllegalArgument("got -1", () -> Context.importDevice(-1, arena));
        Context.importDevice(0, arena).close(); // a number like others
    }

    private Context adopt(AtomicInteger letGo) {
        return VerbsAccess.get().adoptContext(context.address(), arena, letGo::incrementAndGet);
    }

    /** Each connection has such a context: without sharing, each would read the device's files again. */
    @Test
    void contextsOverOneOfAnotherLibraryShareItsDescription() {
        AtomicInteger letGo = new AtomicInteger();
        Context first = adopt(letGo);
        Context second = adopt(letGo);
        assertThat(second.queries()).isSameAs(first.queries()).isNotSameAs(context.queries());
        assertThat(first.device()).isEqualTo(context.device());
        first.close();
        assertThat(letGo).hasValue(1);
        Context third = adopt(letGo);
        assertThat(third.queries()).isSameAs(second.queries());
        second.close();
        third.close();
        assertThat(letGo).hasValue(3);
        Context fourth = adopt(letGo);
        assertThat(fourth.queries()).as("all have left").isNotSameAs(third.queries());
        fourth.close();
        assertThat(Fenced.calls("ibv_close_device")).isZero();
    }

    @Test
    void refusalOfAContextOverAnotherLibrarysLeavesItOpen() {
        AtomicInteger refusals = new AtomicInteger(1);
        Context adopted = VerbsAccess.get().adoptContext(context.address(), arena, () -> {
            if (refusals.getAndDecrement() > 0) {
                throw new VerbsException("rdma_destroy_id", "", Errno.EBUSY, "");
            }
        });
        assertThatExceptionOfType(VerbsException.class).isThrownBy(adopted::close);
        assertThat(adopted.isOpen()).isTrue();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(adopted.events().poll()).as("events are read again").isNotNull();
        adopted.close();
    }
}
