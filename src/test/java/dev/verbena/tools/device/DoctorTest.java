package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.tools.Main;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Tests the doctor on machines with problems. */
class DoctorTest {
    static boolean hasDevice() {
        return Files.isDirectory(Path.of("/sys/class/infiniband"));
    }

    @Test
    @DisabledIf(value = "hasDevice", disabledReason = "this machine has a device, so all may be well with it")
    void doctorAdvisesOnAMissingDevice() {
        ToolRun run = ToolRun.of("doctor");
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.out())
                .contains("BAD   devices", "-> load the driver", "rdma link add rxe0 type rxe netdev eth0");
    }

    @Test
    void doctorAdvisesOnModulesThatTheKernelHasNot(@TempDir Path folder) throws IOException {
        assertThat(Doctor.loading("ib_core", folder.resolve("6.1.0-9")))
                .startsWith("this kernel (6.1.0-9) has no module ib_core")
                .contains("scripts/soft-roce run --")
                .doesNotContain("modprobe");
        Files.writeString(
                folder.resolve("modules.dep"),
                "kernel/drivers/infiniband/core/ib_core.ko.xz: kernel/net/x.ko\nkernel/drivers/my_ib_core2.ko:\n");
        assertThat(Doctor.loading("ib_core", folder)).isEqualTo("as root: modprobe ib_core");
        assertThat(Doctor.loading("rdma_ucm", folder)).contains("has no module rdma_ucm");
    }

    @Test
    void rsocketsAskForInlineDataUnlessAFileSaysNone(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("inline_default");
        assertThat(Doctor.asksForInlineData(file)).isTrue();
        assertThat(Doctor.asksForInlineData(Files.writeString(file, "64\n"))).isTrue();
        assertThat(Doctor.asksForInlineData(Files.writeString(file, "0\n"))).isFalse();
    }

    @Test
    void doctorWarnsOfFewOpenFiles() {
        assertThat(Doctor.openFiles("1024"))
                .satisfies(check -> assertThat(check.result()).isEqualTo("warn"))
                .satisfies(check -> assertThat(check.how()).startsWith("1024 is the limit"))
                .satisfies(check -> assertThat(check.remedy()).contains("LimitNOFILE"));
        assertThat(List.of("4096", "unlimited"))
                .allSatisfy(
                        limit -> assertThat(Doctor.openFiles(limit).result()).isEqualTo("ok"));
    }

    @Test
    void doctorShowsTheInlineDataOfRdmaSockets(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("inline_default");
        assertThat(Doctor.socketInline(file).how()).startsWith("inline data of 64 bytes, because there is no ");
        Files.writeString(file, "0\n");
        assertThat(Doctor.socketInline(file).how()).startsWith("inline data of 0 bytes, as ");
        assertThat(Doctor.socketInline(file).result()).isEqualTo("ok");
        Files.writeString(file, "none\u001b[2J\n");
        assertThat(Doctor.socketInline(file).result()).isEqualTo("warn");
        assertThat(Doctor.socketInline(file).how()).endsWith(" has 'none?[2J'");
    }

    @Test
    void doctorNamesTheFlagForNativeAccess() {
        ChildJvm.Result result = ChildJvm.with(ChildJvm.DENY).runOnClassPath(Main.class, "doctor");
        assertThat(result.status()).isEqualTo(Tool.FAILED);
        assertThat(result.output())
                .contains("BAD   native access", "-> start java with --enable-native-access=ALL-UNNAMED");
    }

    @Test
    void doctorNamesThePackagesOfMissingLibraries() {
        ChildJvm.Result result = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED", "-Ddev.verbena.libibverbs=/nosuch/libibverbs.so.1")
                .runOnClassPath(Main.class, "doctor");
        assertThat(result.status()).isEqualTo(Tool.FAILED);
        assertThat(result.output()).contains("BAD   libraries", "/nosuch/libibverbs.so.1", "apt install libibverbs1");
    }
}
