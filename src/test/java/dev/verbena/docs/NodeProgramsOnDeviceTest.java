package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Slow;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the three programs of nodes with one end in a process of its own. */
@Slow
class NodeProgramsOnDeviceTest {
    private final InetSocketAddress address = NodeProgram.free(CmAddress.four(0));
    private final VerbsArena arena = VerbsArena.ofShared();
    private Process process;

    @AfterEach
    void close() {
        arena.close();
        process.destroyForcibly();
    }

    private void start(Class<?> program, String... words) throws Exception {
        process = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(program, words);
    }

    private Channel connect() {
        return NodeProgram.connect(Node.openTowards(address, arena), address, process::isAlive);
    }

    @Test
    void storeOfAnotherProcessIsReadAndChanged() throws Exception {
        String[] words = NodeProgram.words(address, "");
        start(KeyValueStore.class, words[1], words[2]);
        Channel channel = connect();
        RemoteMemory table = NodeProgram.remote(channel, "table");
        LocalMemory local = channel.node().register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        assertThat(KeyValueStore.get(channel, table, local, 12)).isEmpty();
        KeyValueStore.put(channel, 12, "twelve");
        assertThat(KeyValueStore.get(channel, table, local, 12)).contains("twelve");
        KeyValueStore.put(channel, 12, "a dozen");
        assertThat(KeyValueStore.get(channel, table, local, 12)).contains("a dozen");
    }

    @Test
    void fileIsSentToAnotherProcess(@TempDir Path folder) throws Exception {
        byte[] bytes = new byte[(9 << 20) + 1];
        new Random(5).nextBytes(bytes);
        Path source = Files.write(folder.resolve("source"), bytes);
        assertThat(source.toFile().setReadOnly()).isTrue();
        Path target = folder.resolve("target");
        start(FileTransfer.class, NodeProgram.words(address, "receive", target.toString()));
        NodeProgram.untilItListens(
                () -> FileTransfer.main(NodeProgram.words(address, "send", source.toString())), process::isAlive);
        assertThat(process.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
        assertThat(NodeProgram.output(process)).contains(bytes.length + "\n");
        assertThat(process.exitValue()).isZero();
        assertThat(target).hasSameBinaryContentAs(source);
    }

    @Test
    void serverOfAnotherProcessAnswers() throws Exception {
        start(SquareRootServer.class, NodeProgram.words(address, "polling"));
        assertThat(NodeProgram.root(connect(), 2.25)).isEqualTo(1.5);
    }
}
