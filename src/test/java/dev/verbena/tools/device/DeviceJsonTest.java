package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares the JSON of tools about devices with their text. */
@FencedTest
class DeviceJsonTest {
    private static ToolRun run(String... args) {
        ToolRun run = ToolRun.of(args);
        assertThat(run.err()).isEmpty();
        return run;
    }

    private static List<?> list(Object of, String name) {
        return (List<?>) ((Map<?, ?>) of).get(name);
    }

    private static Object json(String... args) {
        return Json.read(run(args).out());
    }

    /** Counts the values in JSON, but not the lists and groups that have them. */
    private static long values(Object json) {
        return switch (json) {
            case Map<?, ?> map ->
                map.values().stream().mapToLong(DeviceJsonTest::values).sum();
            case List<?> list -> list.stream().mapToLong(DeviceJsonTest::values).sum();
            default -> 1;
        };
    }

    @Test
    void devinfoHasEachLineOfItsText() {
        Object device = list(json("devinfo", "-v", "--json"), "devices").getFirst();
        long groups = run("devinfo", "-v")
                .out()
                .lines()
                .filter(line -> line.endsWith(":"))
                .count();
        long lines = run("devinfo", "-v")
                .out()
                .lines()
                .filter(line -> !line.isBlank())
                .count();
        assertThat(groups).isPositive();
        assertThat(values(device)).isEqualTo(lines - groups);
        assertThat(device).extracting("hca_id").isEqualTo(Device.first().name());
        assertThat(device).extracting("phys_port_cnt").isEqualTo(1L);
        assertThat(list(device, "ports")).singleElement().extracting("state").isEqualTo("PORT_ACTIVE (4)");
    }

    @Test
    void devinfoListsNames() {
        assertThat(json("devinfo", "-l", "--json"))
                .isEqualTo(Map.of("devices", List.of(Device.first().name())));
    }

    @Test
    void gidsMarksTheBest() {
        List<?> gids = list(json("gids", "--json"), "gids");
        String text = run("gids").out();
        assertThat(gids).hasSize((int) text.lines().count() - 3);
        List<?> best = gids.stream()
                .filter(gid -> ((Map<?, ?>) gid).get("best").equals(true))
                .toList();
        assertThat(best).hasSize(1);
        assertThat(text).contains("-g " + ((Map<?, ?>) best.getFirst()).get("index") + "\n");
    }

    @Test
    void doctorHasTheChecksOfItsText() {
        Object report = json("doctor", "--json");
        List<?> checks = list(report, "checks");
        String text = run("doctor").out();
        assertThat(checks).allSatisfy(check -> assertThat(text).contains((String) ((Map<?, ?>) check).get("check")));
        assertThat(text.lines().filter(line -> line.startsWith("  BAD ")))
                .hasSize(((Long) ((Map<?, ?>) report).get("problems")).intValue());
        assertThat(checks)
                .filteredOn(check -> ((Map<?, ?>) check).get("result").equals("BAD"))
                .allSatisfy(check ->
                        assertThat((String) ((Map<?, ?>) check).get("remedy")).isNotEmpty());
    }

    /** A warning is no problem: the exit status and the last line are the same without it. */
    @Test
    void doctorWarnsOfErrorsThatWereCounted(@TempDir Path folder) throws IOException {
        String before = run("doctor").out();
        assertThat(before).doesNotContain("counters");
        Device device = Device.first();
        new SysfsTree(folder).with(device.name() + "/ports/1/hw_counters/send_rnr_err", 3);
        if (!device.driver().isEmpty()) {
            Path adapter = Files.createDirectories(folder.resolve(device.name()).resolve("device"));
            Files.createSymbolicLink(adapter.resolve("driver"), Path.of("/sys/bus/pci/drivers", device.driver()));
        }
        Fenced.adapterPath(folder.resolve(device.name()).toString());
        try {
            assertThat(run("doctor").out())
                    .contains(
                            "  warn  counters       port 1: this side had no receive for a message: send_rnr_err 3\n",
                            "-> post more receives here")
                    .endsWith(before.lines().toList().getLast() + "\n");
        } finally {
            Fenced.driverAsStarted();
        }
    }
}
