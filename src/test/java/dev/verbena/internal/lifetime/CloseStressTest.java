package dev.verbena.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Hammer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.runners.ForkedTestConfig;
import org.openjdk.jcstress.infra.runners.Runner;
import org.openjdk.jcstress.infra.runners.SpinLoopStyle;

/**
 * The orders of memory that the close handshake does not allow are not seen, by jcstress on two processors. Its main program
 * would start some 30 JVMs first, to learn what they can do.
 */
@Hammer
@Tag("processor")
class CloseStressTest {
    @ParameterizedTest
    @CsvSource({"Entered, Held", "EnteredWithoutMembarrier, HeldWithoutMembarrier"})
    void callsAreSeenWholeOrRefused(String entered, String held) {
        assumeThat(Runtime.getRuntime().availableProcessors())
                .as("processors that can disagree")
                .isGreaterThan(1);
        String output = ChildJvm.with("--enable-native-access=ALL-UNNAMED", "-Xmx64m")
                .optimizing()
                .runOnClassPath(Stress.class, entered, held)
                .successfulOutput();
        for (String name : new String[] {entered, held}) {
            // A machine that others use may show one order only.
            assertThat(output)
                    .as("what %s has seen", name)
                    .containsPattern(name + " NORMAL: ((0, 0|1, 1) \\d+ times; )+\\R");
        }
    }

    /** A program that runs test classes of jcstress, and prints what they have seen. */
    static final class Stress {
        private static final int TIME_MILLIS = 500;
        private static final int TIMES = 2;
        private static final int MEGABYTES = 16;
        private static final int STRIDE = 64;
        private static final int STRIDES = 40;

        public static void main(String[] names) throws Exception {
            for (String name : names) {
                String test = CloseStressTest.class.getPackageName() + ".CloseStress_" + name + "_jcstress";
                Runner<?> runner = (Runner<?>) Class.forName(test)
                        .getConstructor(ForkedTestConfig.class)
                        .newInstance(configuration(test));
                TestResult result = runner.run();
                System.out.print(name + " " + result.status() + ": ");
                result.getStateKeys().stream()
                        .sorted()
                        .forEach(seen -> System.out.print(seen + " " + result.getCount(seen) + " times; "));
                System.out.println(String.join(" ", result.getMessages()));
            }
        }

        /** Returns the configuration of a test, as jcstress sends it to a JVM. */
        private static ForkedTestConfig configuration(String test) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (DataOutputStream out = new DataOutputStream(bytes)) {
                out.writeInt(SpinLoopStyle.THREAD_SPIN_WAIT.ordinal());
                out.writeInt(TIME_MILLIS);
                out.writeInt(TIMES);
                out.writeUTF(test);
                out.writeInt(MEGABYTES);
                out.writeInt(STRIDE);
                out.writeInt(STRIDES);
                out.writeBoolean(false); // the threads may run on any processor
            }
            return new ForkedTestConfig(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        }
    }
}
