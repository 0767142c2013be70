package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Protection;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the three programs of nodes with both ends in one process: {@link NodeProgramsOnDeviceTest} has two. */
@FencedTest
@Timeout(120)
class NodeProgramsTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);

    private final InetSocketAddress address = NodeProgram.free(OWN);
    private final VerbsArena arena = VerbsArena.ofShared();
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());
    private final Node client = Node.open(OWN, arena);

    @AfterEach
    void close() throws Exception {
        arena.close();
        threads.shutdownNow(); // ends the servers, which wait without end
        assertThat(threads.awaitTermination(DEADLINE.toSeconds(), SECONDS)).isTrue();
    }

    private Channel connect(Future<?> server) {
        return NodeProgram.connect(client, address, () -> !server.isDone());
    }

    @ParameterizedTest
    @CsvSource({"KeyValueStore, 47", "FileTransfer, 32", "SquareRootServer, 31"})
    void programHasAtMostAsManyLines(String name, int most) throws Exception {
        assertThat(Files.readString(Path.of("src/test/java/dev/verbena/docs/" + name + ".java"))
                        .lines()
                        .filter(line -> !line.isBlank() && !line.matches("(import|package) .*|// @(start|end).*"))
                        .count())
                .isLessThanOrEqualTo(most);
    }

    @Test
    void storeKeepsValuesAndRefusesAKeyWhoseEntryIsTaken() throws Exception {
        Future<?> server = threads.submit(() -> {
            String[] words = NodeProgram.words(address, "");
            KeyValueStore.main(new String[] {words[1], words[2]});
            return null;
        });
        Channel channel = connect(server);
        RemoteMemory table = NodeProgram.remote(channel, "table");
        LocalMemory local = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        assertThat(KeyValueStore.get(channel, table, local, 0)).isEmpty();
        for (Map.Entry<Long, String> each :
                Map.of(0L, "zero", -1L, "minus one", 77L, "").entrySet()) {
            KeyValueStore.put(channel, each.getKey(), each.getValue());
            assertThat(KeyValueStore.get(channel, table, local, each.getKey())).contains(each.getValue());
        }
        KeyValueStore.put(channel, 0, "nought");
        assertThat(KeyValueStore.get(channel, table, local, 0)).contains("nought");
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> KeyValueStore.put(channel, 1024, "other"));
        assertThat(KeyValueStore.get(channel, table, local, 1024)).isEmpty();
        var wrong = channel.message(DEADLINE).length(55);
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> channel.call(wrong, DEADLINE));
        assertThat(KeyValueStore.get(channel, table, local, 0)).contains("nought");
    }

    /** A read that meets a put is done again. Without the versions, it finds letters of both values. */
    @Test
    void storeIsNeverReadInTheMiddleOfAPut() throws Exception {
        Future<?> server = threads.submit(() -> {
            String[] words = NodeProgram.words(address, "");
            KeyValueStore.main(new String[] {words[1], words[2]});
            return null;
        });
        Channel channel = connect(server);
        RemoteMemory table = NodeProgram.remote(channel, "table");
        LocalMemory local = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        KeyValueStore.put(channel, 5, "a".repeat(47));
        Future<?> puts = threads.submit(() -> {
            for (int i = 0; i < 3000; i++) {
                KeyValueStore.put(channel, 5, Character.toString('a' + i % 26).repeat(47));
            }
            return null;
        });
        while (!puts.isDone()) {
            String found = KeyValueStore.get(channel, table, local, 5).orElseThrow();
            assertThat(found).isEqualTo(found.substring(0, 1).repeat(47));
        }
        puts.get(DEADLINE.toSeconds(), SECONDS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fileArrivesOrTheSenderLearnsThatItsSumIsWrong(boolean right, @TempDir Path folder) throws Exception {
        Path source = Files.write(folder.resolve("source"), new byte[3_000_000]);
        Path target = folder.resolve("target");
        Future<?> receiver = threads.submit(() -> {
            FileTransfer.main(NodeProgram.words(address, "receive", target.toString()));
            return null;
        });
        Channel channel = connect(receiver);
        if (right) {
            try (FileChannel file = FileChannel.open(source)) {
                channel.offer(file, 0, file.size(), FileTransfer.sha256(source.toString()), DEADLINE);
            }
            receiver.get(DEADLINE.toSeconds(), SECONDS);
            assertThat(target).hasSameBinaryContentAs(source);
        } else {
            try (FileChannel file = FileChannel.open(source)) {
                assertThatExceptionOfType(VerbsException.class)
                        .isThrownBy(() -> channel.offer(file, 0, file.size(), new byte[32], DEADLINE));
            }
            assertThat(receiver).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("SHA-256");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "handlers", "polling"})
    void serverAnswersSeveralClientsInEachStyle(String style) throws Exception {
        Future<?> server = threads.submit(() -> {
            SquareRootServer.main(NodeProgram.words(address, style));
            return null;
        });
        Channel first = connect(server);
        Channel second = connect(server);
        assertThat(NodeProgram.root(first, 9)).isEqualTo(3);
        assertThat(NodeProgram.root(second, 16)).isEqualTo(4);
        first.close();
        assertThat(NodeProgram.root(second, 25)).isEqualTo(5);
        server.cancel(true);
    }

    // With a secret

    private Channel knowing(Future<?> server) {
        Node knows = Node.open(OWN, NodeOptions.defaults().secret(new byte[32]), arena);
        Channel made = NodeProgram.connect(knows, address, () -> !server.isDone());
        assertThat(made.protection()).isEqualTo(Protection.SEALED);
        return made;
    }

    private static String secret(Path folder) throws Exception {
        return Files.write(folder.resolve("secret"), new byte[32]).toString();
    }

    @Test
    void storeWithASecretIsReadByThoseWhoKnowIt(@TempDir Path folder) throws Exception {
        String file = secret(folder);
        Future<?> server = threads.submit(() -> {
            String[] words = NodeProgram.words(address, "");
            KeyValueStore.main(new String[] {words[1], words[2], file});
            return null;
        });
        Channel channel = knowing(server);
        RemoteMemory table = NodeProgram.remote(channel, "table");
        LocalMemory local = channel.node().register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        KeyValueStore.put(channel, 7, "seven");
        assertThat(KeyValueStore.get(channel, table, local, 7)).contains("seven");
    }

    @Test
    void fileIsTakenOfThoseWhoKnowTheSecret(@TempDir Path folder) throws Exception {
        Path source = Files.write(folder.resolve("source"), new byte[300_000]);
        Path target = folder.resolve("target");
        String file = secret(folder);
        Future<?> receiver = threads.submit(() -> {
            FileTransfer.main(NodeProgram.words(address, "receive", target.toString(), file));
            return null;
        });
        Channel channel = knowing(receiver);
        try (FileChannel data = FileChannel.open(source)) {
            channel.offer(data, 0, data.size(), FileTransfer.sha256(source.toString()), DEADLINE);
        }
        receiver.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(target).hasSameBinaryContentAs(source);
    }

    @Test
    void serverWithASecretRefusesStrangers(@TempDir Path folder) throws Exception {
        String file = secret(folder);
        Future<?> server = threads.submit(() -> {
            SquareRootServer.main(NodeProgram.words(address, "handlers", file));
            return null;
        });
        assertThat(NodeProgram.root(knowing(server), 9)).isEqualTo(3);
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> client.connect(address, DEADLINE))
                .satisfies(refused -> assertThat(refused.reason()).isEqualTo(EndReason.OTHER_PROTECTION));
    }
}
