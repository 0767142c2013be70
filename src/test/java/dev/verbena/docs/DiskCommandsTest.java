package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.examples.LinuxHost;
import dev.verbena.support.Slow;
import java.util.stream.Collectors;
import org.commonmark.node.FencedCodeBlock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The commands of the chapter about examples, which show a disk of a JVM, run as they are written. */
@Slow
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = ".+",
        disabledReason = "modules are loaded in guests only")
class DiskCommandsTest {
    @Test
    void commandsPutAFileSystemOnADiskOfAJvm() throws Exception {
        String commands = Chapter.all().stream()
                .filter(chapter -> chapter.file().endsWith("examples.md"))
                .flatMap(chapter -> chapter.nodes(FencedCodeBlock.class).stream())
                .filter(block -> block.getInfo().equals("sh"))
                .map(FencedCodeBlock::getLiteral)
                .collect(Collectors.joining());
        // The time limit is that of a failure: it ends what the commands have started, too.
        String output = LinuxHost.run("timeout", "400", "bash", "-exc", "trap 'kill $(jobs -p)' EXIT\n" + commands);
        assertThat(output).containsPattern("/dev/nvme\\S+: \\d{2,}/\\d+ files");
    }
}
