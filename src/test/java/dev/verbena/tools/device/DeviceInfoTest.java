package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.tools.ToolRun;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.OnDemandPaging;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Compares the output about devices with that of the C tools: the same fields in the same order. */
@DeviceTest
class DeviceInfoTest {
    private static String c(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String java(String... args) {
        ToolRun run = ToolRun.of(args);
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
        return run.out();
    }

    /** Returns the fields of an output: names with values, and single words such as flags. */
    private static List<String> fields(String output) {
        return output.lines()
                .map(line -> line.strip().replaceAll("\\s+", " "))
                .filter(field -> !field.isEmpty())
                .toList();
    }

    /**
     * Replaces numbers of paged operations by their names. The C tool of rdma-core before 58 does not know those that came
     * with newer kernels.
     */
    private static List<String> namesOfPagedOperations(List<String> fields) {
        List<String> named = new ArrayList<>();
        boolean paging = false;
        for (String field : fields) {
            paging = field.endsWith("odp_caps:") || paging && field.matches("(SUPPORT_|NO SUPPORT|ODP_|Unknown).*");
            if (paging && field.startsWith("Unknown flags: 0x")) {
                int bits = Integer.parseUnsignedInt(field.substring(17), 16);
                for (OnDemandPaging.PagedOperation known :
                        OnDemandPaging.PagedOperation.values()) { // in the order of their bits
                    if ((bits & 1 << known.ordinal()) != 0) {
                        named.add("SUPPORT_" + known);
                    }
                }
            } else {
                named.add(field);
            }
        }
        return named;
    }

    /** All that the C library says of a device, its ports and its GIDs, by name and number. */
    @Twin({"test_device.DeviceTest.test_query_device", "test_device.DeviceTest.test_query_device_ex"})
    @Test
    void devinfoVerboseEqualsTheCTool() throws IOException {
        List<String> theirs = namesOfPagedOperations(
                fields(c("ibv_devinfo", "-v", "-d", TestDevice.get().name())));
        assertThat(theirs).hasSizeGreaterThan(80);
        assertThat(fields(java("devinfo", "-v", "-d", TestDevice.get().name()))).isEqualTo(theirs);
    }

    @Test
    void devinfoEqualsTheCTool() throws IOException {
        assertThat(fields(java("devinfo"))).isEqualTo(fields(c("ibv_devinfo")));
        assertThat(fields(java("devinfo", "-l"))).isEqualTo(fields(c("ibv_devinfo", "-l")));
        assertThat(fields(java("devinfo", "-i", "1"))).isEqualTo(fields(c("ibv_devinfo", "-i", "1")));
    }

    @Test
    void devicesEqualsTheCTool() throws IOException {
        assertThat(java("devices").stripTrailing()).isEqualTo(c("ibv_devices").stripTrailing());
    }

    @Test
    void gidsListsTheGidsOfTheCToolAndMarksTheBest() throws IOException {
        String device = TestDevice.get().name();
        List<String> listed = fields(java("gids", "-d", device));
        for (String field : fields(c("ibv_devinfo", "-v", "-d", device))) {
            if (field.startsWith("GID[")) {
                String index = field.substring(4, field.indexOf(']')).strip();
                String gid = field.substring(field.indexOf("]:") + 2, field.indexOf(','))
                        .strip();
                assertThat(listed)
                        .anyMatch(line -> line.matches("(\\* )?" + index + " .*") && line.endsWith(" " + gid));
            }
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GidEntry best = TestDevice.get().open(arena).bestGid(1);
            assertThat(listed.getLast()).startsWith("use -d " + device + " -g " + best.index());
            assertThat(listed)
                    .filteredOn(line -> line.startsWith("*"))
                    .singleElement()
                    .asString()
                    .startsWith("* " + best.index() + " RoCE v2 " + best.networkDevice());
        }
    }

    /** The kernel shows the same with a device of soft-RoCE as with an adapter, but fewer counters. */
    @Test
    void topAndCountersShowThisDeviceAndThisProcess() {
        String name = TestDevice.get().name();
        try (var _ = Loopback.connected()) {
            assertThat(java(("top --once " + name + ":1").split(" ")))
                    .contains(
                            name + " port 1  ACTIVE  ",
                            name + "  java[" + ProcessHandle.current().pid() + "]: 2 queue pairs (2 RTS)",
                            "2 memory regions (131.1 kB)");
        }
        assertThat(java("counters", name)).startsWith(name + " port 1 at ");
    }

    @Test
    void doctorFindsNoProblemsOnAMachineWithADevice() {
        ToolRun run = ToolRun.of("doctor");
        assertThat(run.out())
                .endsWith("No problems found.\n")
                .contains(
                        "self-test",
                        "libibverbs.so",
                        "librdmacm.so",
                        "ib_uverbs",
                        "locked memory",
                        "native access",
                        "/dev/infiniband/uverbs",
                        TestDevice.get().name());
        assertThat(run.status()).isZero();
    }
}
