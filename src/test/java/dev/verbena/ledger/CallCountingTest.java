package dev.verbena.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.CName;
import dev.verbena.VerbsException;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.ledger.CallCounting.Hook;
import dev.verbena.reach.Instrument;
import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ledger counts every call of a C function, by its name, and every refusal. */
class CallCountingTest {
    /** The library's classes, each with the ledger's hooks or, where it has no place for one, as it is. */
    private static List<byte[]> hooked(CallCounting counting) throws IOException {
        List<byte[]> hooked = new ArrayList<>();
        for (Path folder : new HashSet<>(List.of(ChildJvm.place(CName.class), ChildJvm.place(ibv_qp_ex.class)))) {
            try (Stream<Path> files = Files.walk(folder.resolve("dev/verbena"))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".class")).toList()) {
                    byte[] before = Files.readAllBytes(file);
                    byte[] after = counting.transform(before);
                    hooked.add(after == null ? before : after);
                }
            }
        }
        return hooked;
    }

    private static CallCounting counting() {
        return new CallCounting(name -> CName.class.getClassLoader().getResource(name) != null);
    }

    @Test
    void hooksCoverEveryKindOfPlace() throws IOException {
        CallCounting counting = counting();
        hooked(counting);
        Map<Hook, Set<String>> places = counting.hooked();
        assertThat(places).containsOnlyKeys(Hook.values());
        assertThat(places.get(Hook.CONTEXT))
                .containsExactly(ContextVerb.class.getName().replace('.', '/'));
        assertThat(places.get(Hook.FAILURE))
                .containsExactly(VerbsException.class.getName().replace('.', '/'));
        assertThat(places.get(Hook.MEMBER))
                .contains(
                        "ibv_poll_cq",
                        "ibv_req_notify_cq",
                        "ibv_post_send",
                        "ibv_post_recv",
                        "ibv_post_srq_recv",
                        "ibv_post_wq_recv",
                        "ibv_start_poll",
                        "ibv_next_poll",
                        "ibv_end_poll",
                        "ibv_wc_read_opcode",
                        "ibv_wc_read_completion_wallclock_ns",
                        "ibv_wr_start",
                        "ibv_wr_complete",
                        "ibv_wr_abort",
                        "ibv_wr_send",
                        "ibv_wr_flush",
                        "ibv_wr_set_sge_list",
                        "ibv_memcpy_to_dm");
    }

    @Test
    void hooksLeaveNoCallToTheLinkerThatIsNotCounted() throws IOException {
        CallCounting again = counting();
        for (byte[] classFile : hooked(counting())) {
            again.transform(classFile);
        }
        assertThat(again.hooked()).doesNotContainKeys(Hook.LINK, Hook.LOOKUP);
    }

    @Test
    void libraryDoesNotKnowTheLedger() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                assertThat(Files.readString(file)).as(file.toString()).doesNotContainIgnoringCase("ledger");
            }
        }
    }

    @Test
    void hooksCountCallsAndRefusalsByName(@TempDir Path folder) throws IOException {
        String classes = ChildJvm.place(CName.class).toString();
        Instrument.main(new String[] {folder.toString(), "ledger", classes});
        List<String> lines = ChildJvm.with("--enable-native-access=ALL-UNNAMED", "-Ddev.verbena.libibverbs=libc.so.6")
                .runAlone("-cp", folder + ":" + ChildJvm.classPath(), CountedCalls.class.getName())
                .successfulOutput()
                .lines()
                .toList();
        assertThat(lines)
                .as("calls")
                .contains(
                        "isalpha made 3 failed 0",
                        "memset made 1 failed 0",
                        "ibv_wr_start made 2 failed 0",
                        "ibv_alloc_td made 1 failed 0");
        assertThat(lines)
                .as("refusals")
                .contains(
                        "ibv_reg_mr made 0 failed 1 unsupported false", "ibv_alloc_dm made 0 failed 1 unsupported true")
                .noneMatch(line -> line.startsWith("ibv_poll_cq"));
        assertThat(lines)
                .as("calls that cannot be counted")
                .anyMatch(line -> line.startsWith("refused: The ledger does not know the C name"))
                .contains("refused: One address is ibv_wr_start and ibv_wr_complete")
                .noneMatch(line -> line.startsWith("isdigit"));
    }
}
