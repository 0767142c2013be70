package dev.verbena.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Hammer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openjdk.jcstress.Main;

/** The orders of memory that the close handshake does not allow are not seen, by jcstress on two processors. */
@Hammer
@Tag("processor")
class CloseStressTest {
    /** Emulated processors are slow, and jcstress starts some 30 JVMs first, to learn what they can do. */
    private static final Duration LONGEST = Duration.ofMinutes(20);

    private static final String OPTIONS =
            "-t dev.verbena.internal.lifetime.CloseStress -v -f 1 -fsm 1 -iters 2 -time 500 -sc false -strideSize 64"
                    + " -pth false -hs 64";

    @Test
    void callsAreSeenWholeOrRefused(@TempDir Path folder) {
        assumeThat(Runtime.getRuntime().availableProcessors())
                .as("processors that can disagree")
                .isGreaterThan(1);
        String output = ChildJvm.startedBy("env", "-C", folder.toString()) // where jcstress writes its results
                .deadline(LONGEST)
                .optimizing()
                .runOnClassPath(Main.class, arguments())
                .successfulOutput();
        String results = output.substring(output.indexOf("RUN RESULTS"));
        for (String name : List.of("Entered", "EnteredWithoutMembarrier", "Held", "HeldWithoutMembarrier")) {
            Matcher seen = Pattern.compile("\\[OK] dev\\.verbena\\.internal\\.lifetime\\.CloseStress\\." + name
                            + "\\s+Results across all configurations:\\s+RESULT.*\\s+0, 0 +([1-9]|0 .*\\s+1, 1 +[1-9])")
                    .matcher(results);
            // A machine that others use may show one order only. Else jcstress reports a failure, or no sample.
            assertThat(seen.find())
                    .as("%s sees allowed orders only: %s", name, output)
                    .isTrue();
        }
    }

    private static String[] arguments() {
        return Stream.concat(
                        Arrays.stream(OPTIONS.split(" ")), Stream.of("-jvmArgs", "--enable-native-access=ALL-UNNAMED"))
                .toArray(String[]::new);
    }
}
