package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.MakeAndClose;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Objects that come and go leave the memory of the process as it was. */
@DeviceTest
class FlatMemoryTest {
    @Test
    void createAndCloseDoesNotGrowMemory() {
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-Xms48m",
                        "-Xmx48m",
                        "-XX:+AlwaysPreTouch")
                .deadline(Duration.ofMinutes(8)) // it takes one or two where nothing else runs
                .runOnClassPath(MakeAndClose.class, "500", "1500")
                .successfulOutput();
        Matcher grown = Pattern.compile("grown (-?\\d+)").matcher(output);
        assertThat(grown.find()).as(output).isTrue();
        assertThat(Long.parseLong(grown.group(1)))
                .as("KiB of 1,500 cycles with 12 objects each")
                .isLessThan(2000);
        assertThat(output).contains("left []");
    }
}
