package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.LayoutsOnly;
import dev.verbena.support.ListDevices;
import dev.verbena.support.OverTcp;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a program sees when the libraries are missing or may not be called. */
class RdmaUnavailableTest {
    private static final String MISSING = "-Ddev.verbena.libibverbs=/nonexistent.so";

    private static String line(String output, String key) {
        List<String> lines =
                output.lines().filter(line -> line.startsWith(key + ": ")).toList();
        assertThat(lines).as(output).hasSize(1);
        return lines.getFirst().substring(key.length() + 2);
    }

    private static String withoutLibrary() {
        return ChildJvm.with(MISSING, "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(ListDevices.class)
                .successfulOutput();
    }

    @Test
    void missingLibraryMessageNamesPackagesAndProperty() {
        assertThat(line(withoutLibrary(), "refused"))
                .contains("/nonexistent.so", "apt install libibverbs1", "Debian", "Ubuntu")
                .contains("dnf install libibverbs", "Fedora", "RHEL")
                .contains("zypper install libibverbs1", "SUSE")
                .contains("-Ddev.verbena.libibverbs=");
    }

    @Test
    void unavailabilityReturnsTheExceptionOfTheFirstVerb() {
        String output = withoutLibrary();
        assertThat(line(output, "unavailability")).isEqualTo(line(output, "refused"));
    }

    @Test
    void missingConnectionManagerMessageNamesPackages() {
        String output = ChildJvm.with("-Ddev.verbena.librdmacm=/nonexistent.so", "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(ListDevices.class)
                .successfulOutput();
        assertThat(line(output, "unavailability"))
                .contains(
                        "/nonexistent.so",
                        "apt install librdmacm1",
                        "dnf install librdmacm",
                        "zypper install librdmacm1",
                        "-Ddev.verbena.librdmacm=");
        assertThat(output).as("devices need only libibverbs").doesNotContain("refused: ");
    }

    @Test
    void valuesAndMemoryNeedNoLibrary() {
        String output = withoutLibrary();
        assertThat(line(output, "state")).isEqualTo("RTS");
        assertThat(line(output, "endpoint")).isEqualTo("0000:000011:a3b2c1:00000000000000000000ffff0a090901");
        assertThat(line(output, "memory")).isEqualTo("64");
    }

    /** Also in a program whose other sockets are RDMA sockets. */
    @Test
    void nodesOverTcpNeedNoLibrary() {
        String output = ChildJvm.with(
                        MISSING,
                        "-Ddev.verbena.librdmacm=/nonexistent.so",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider",
                        "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED")
                .runOnClassPath(OverTcp.class)
                .successfulOutput();
        assertThat(line(output, "unavailable")).isEqualTo("true");
        assertThat(line(output, "server")).as("AUTO").contains("on TCP");
        assertThat(line(output, "transport")).isEqualTo("TCP");
        assertThat(line(output, "offer")).isEqualTo("true");
        assertThat(line(output, "added to")).isEqualTo("7");
        assertThat(line(output, "read")).isEqualTo("12");
    }

    @Test
    void generatedLayoutsAndConstantsNeedNoLibrary() {
        String output = ChildJvm.with(
                        MISSING, "-Ddev.verbena.librdmacm=/nonexistent.so", "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(LayoutsOnly.class)
                .successfulOutput();
        assertThat(output).contains("IBV_QPS_RTS = 3", "sizeof(struct ibv_wc) = 48");
    }

    @Test
    void deniedNativeAccessMessageNamesTheFlagOnTheClassPath() {
        String output =
                ChildJvm.with(ChildJvm.DENY).runOnClassPath(ListDevices.class).successfulOutput();
        assertThat(line(output, "refused")).contains("--enable-native-access=ALL-UNNAMED");
        assertThat(line(output, "unavailability")).isEqualTo(line(output, "refused"));
        assertThat(line(output, "memory")).as("memory needs no native access").isEqualTo("64");
    }

    @Test
    void deniedNativeAccessMessageNamesTheFlagOnTheModulePath() {
        String output =
                ChildJvm.with(ChildJvm.DENY).runOnModulePath(ListDevices.class).successfulOutput();
        assertThat(line(output, "module")).isEqualTo("module dev.verbena");
        assertThat(line(output, "refused")).contains("--enable-native-access=dev.verbena");
    }

    @Test
    void modulePathNeedsOnlyTheNativeAccessFlag() {
        String output = ChildJvm.with("--enable-native-access=dev.verbena")
                .option(Runtime.version().feature() >= 24 ? new String[] {ChildJvm.DENY} : new String[0])
                .runOnModulePath(ListDevices.class)
                .successfulOutput();
        assertThat(line(output, "module")).isEqualTo("module dev.verbena");
        assertThat(line(output, "unavailability")).isEqualTo("none");
        assertThat(line(output, "devices")).startsWith("[");
        assertThat(output).as("no warning of the virtual machine").doesNotContain("WARNING");
    }
}
