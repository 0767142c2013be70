package dev.verbena.tools.copy;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code verbena cp} and {@code verbena serve} in one process. */
@FencedTest
@Timeout(120)
class CopyTest {
    private static final String OWN = "10.9.9.1";

    @TempDir
    private Path root;

    private Path folder;
    private int port;
    private Thread server;
    private final ByteArrayOutputStream served = new ByteArrayOutputStream();

    @AfterEach
    void stop() throws InterruptedException {
        server.interrupt();
        Await.end(server);
    }

    private void serve(String... more) throws Exception {
        folder = Files.createDirectory(root.resolve("in"));
        try (VerbsArena arena = VerbsArena.ofShared()) {
            port = Node.open(new InetSocketAddress(OWN, 0), arena).address().getPort();
        }
        String[] words =
                Arrays.copyOf(new String[] {"serve", "-b", OWN, "-p", port + "", folder + ""}, 6 + more.length);
        System.arraycopy(more, 0, words, 6, more.length);
        server = ToolRun.start(served, words);
        Await.until("the server listens", () -> served().contains("serving"));
    }

    private String served() {
        return served.toString(StandardCharsets.UTF_8);
    }

    private ToolRun cp(Path file, String target, String... more) {
        String[] words =
                Arrays.copyOf(new String[] {"cp", "-b", OWN, "-p", port + "", file + "", target}, 7 + more.length);
        System.arraycopy(more, 0, words, 7, more.length);
        return ToolRun.of(words);
    }

    private Path file(String name, int size) throws Exception {
        byte[] bytes = new byte[size];
        new SplittableRandom(size).nextBytes(bytes);
        return Files.write(root.resolve(name), bytes);
    }

    /** Compares two files block by block. */
    private static void assertSame(Path actual, Path expected) throws IOException {
        assertThat(Files.mismatch(actual, expected)).as("where they differ").isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, Inbox.PIECE, 2 * Inbox.PIECE + 3})
    void fileArrivesWhole(int size) throws Exception {
        serve();
        Path file = file("name", size);
        ToolRun run = cp(file, OWN + ":").succeeds();
        assertThat(run.out()).startsWith("name: " + size + " bytes in ").contains("SHA-256 ");
        assertSame(folder.resolve("name"), file);
        assertThat(served()).contains("received name, " + size + " bytes, from " + OWN);
    }

    @Test
    void fileGetsTheAskedNameAndReplacesAnOldOne() throws Exception {
        serve();
        Files.createDirectory(folder.resolve("sub"));
        Path file = file("name", 1000);
        Files.writeString(folder.resolve("other"), "old");
        assertThat(cp(file, OWN + ":other").status()).isZero();
        assertThat(cp(file, OWN + ":sub/").status()).isZero();
        assertSame(folder.resolve("other"), file);
        assertSame(folder.resolve("sub/name"), file);
    }

    @ParameterizedTest
    @ValueSource(strings = {"../x", "/tmp/x", "link/x", "a/../../x", "missing/x"})
    void pathOutsideOfTheFolderIsRefusedInOneLine(String path) throws Exception {
        serve();
        Files.createSymbolicLink(folder.resolve("link"), root);
        ToolRun run = cp(file("name", 10), OWN + ":" + path);
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.err()).startsWith("verbena cp: ").hasLineCount(1);
        assertThat(root.resolve("x")).doesNotExist();
        assertThat(cp(file("name", 10), OWN + ":name").status()).isZero();
    }

    /** Copies one piece of a file, as a process does that is killed then. Returns the unfinished file. */
    private Path interrupted(Path file) throws Exception {
        byte[] bytes = Files.readAllBytes(file);
        byte[] sum = CopyWire.sha256().digest(bytes);
        try (VerbsArena arena = VerbsArena.ofShared();
                Channel channel =
                        Node.open(new InetSocketAddress(OWN, 0), arena).connect(address(), DEADLINE)) {
            Message begin = channel.message(DEADLINE);
            new CopyWire.Begin("name", bytes.length, sum).writeTo(begin);
            channel.call(begin, DEADLINE).close();
            channel.offer(MemorySegment.ofArray(bytes).asSlice(0, Inbox.PIECE), new byte[0], DEADLINE);
        } // without the rest
        Await.until("the server has noticed", () -> served().contains("left name at " + Inbox.PIECE));
        assertThat(folder.resolve("name")).doesNotExist();
        Path part = folder.resolve(Inbox.PREFIX + HexFormat.of().formatHex(sum));
        assertThat(part).hasSize(Inbox.PIECE + 1);
        return part;
    }

    @Test
    void interruptedCopyGoesOnAtItsLastWholePiece() throws Exception {
        serve();
        Path file = file("name", Inbox.PIECE + 7);
        Path part = interrupted(file);
        ToolRun run = cp(file, OWN + ":").succeeds();
        assertThat(run.out()).startsWith("name goes on at " + Inbox.PIECE + " bytes\nname: 7 bytes in ");
        assertSame(folder.resolve("name"), file);
        assertThat(part).doesNotExist();
    }

    @Test
    void interruptedCopyOfAChangedFileBeginsAnew() throws Exception {
        serve();
        Path file = file("name", Inbox.PIECE + 7);
        interrupted(file);
        byte[] changed = Files.readAllBytes(file);
        changed[0]++;
        Files.write(file, changed);
        ToolRun run = cp(file, OWN + ":").succeeds();
        assertThat(run.out()).startsWith("name: " + changed.length + " bytes in ");
        assertThat(folder.resolve("name")).hasBinaryContent(changed);
    }

    /** The sum covers what had come before, too. */
    @Test
    void interruptedCopyThatWasChangedOnTheServerIsRefusedAndThenCopiedAnew() throws Exception {
        serve();
        Path file = file("name", Inbox.PIECE + 7);
        Path part = interrupted(file);
        try (FileChannel channel = FileChannel.open(part, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[100]), 1000);
        }
        cp(file, OWN + ":").fails("SHA-256 is wrong", "Copy it again");
        assertThat(folder.resolve("name")).doesNotExist();
        assertThat(part).doesNotExist();
        assertThat(cp(file, OWN + ":").status()).isZero();
        assertSame(folder.resolve("name"), file);
    }

    @Test
    void copiesToTheSameNameAtOnceLeaveOneOfTheFilesWhole() throws Exception {
        serve();
        List<Path> files = List.of(file("one", Inbox.PIECE + 1), file("two", Inbox.PIECE + 2));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Future<ToolRun> each : files.stream()
                    .map(file -> threads.submit(() -> cp(file, OWN + ":name")))
                    .toList()) {
                each.get().succeeds();
            }
        }
        Path last = files.get(Files.size(folder.resolve("name")) == Inbox.PIECE + 1 ? 0 : 1);
        assertSame(folder.resolve("name"), last);
        assertLeft("name");
    }

    /** The second one of two copies of one file is refused at once, or finds the first one done. */
    @Test
    void copiesOfTheSameFileAtOnceDoNotDisturbEachOther() throws Exception {
        serve();
        Path file = file("name", Inbox.PIECE + 1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<ToolRun>> runs = Stream.generate(() -> threads.submit(() -> cp(file, OWN + ":")))
                    .limit(4)
                    .toList();
            int copied = 0;
            for (Future<ToolRun> each : runs) {
                ToolRun run = each.get();
                copied += run.status() == 0 ? 1 : 0;
                assertThat(run.status() == 0 || run.err().contains("is being received"))
                        .as(run.toString())
                        .isTrue();
            }
            assertThat(copied).isPositive();
        }
        assertSame(folder.resolve("name"), file);
        assertLeft("name");
    }

    private void assertLeft(String... names) throws IOException {
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left.map(each -> each.getFileName().toString())).containsExactlyInAnyOrder(names);
        }
    }

    /** As a log does: what it had at the beginning arrives. */
    @Test
    void fileThatGrowsWhileItIsSentArrivesAsItWas() throws Exception {
        serve();
        Path file = file("name", 100);
        byte[] begin = Files.readAllBytes(file);
        Thread writer = Thread.ofPlatform().start(() -> {
            try (FileChannel log = FileChannel.open(file, StandardOpenOption.APPEND)) {
                while (!Thread.currentThread().isInterrupted()) {
                    log.write(ByteBuffer.wrap(new byte[64]));
                }
            } catch (IOException interrupted) {
                return;
            }
        });
        try {
            cp(file, OWN + ":").succeeds();
        } finally {
            writer.interrupt();
            Await.end(writer);
        }
        assertThat(Arrays.copyOf(Files.readAllBytes(folder.resolve("name")), 100))
                .isEqualTo(begin);
    }

    @Test
    void fileWithAnOddNameArrives() throws Exception {
        serve();
        for (String name : List.of("two words", "-rf", "\u00e9\u4e2d", "x".repeat(255))) {
            Path file = file(name, 10);
            ToolRun run = cp(file, OWN + ":").succeeds();
            assertThat(run.out()).hasLineCount(1);
            assertSame(folder.resolve(name), file);
        }
        cp(file("name", 10), OWN + ":" + "x/".repeat(3000) + "x").fails("too long");
    }

    @Test
    void fileWithANameThatCommandsATerminalIsRefused() throws Exception {
        serve();
        for (String name : List.of("new\nline", "\u001b[2J", "\u202eexe")) {
            ToolRun run = cp(file(name, 10), OWN + ":").fails("Names must have no control characters");
            assertThat(run.err() + served()).doesNotContain("\u001b", "\u202e");
            assertThat(folder).isEmptyDirectory();
        }
    }

    private InetSocketAddress address() {
        return new InetSocketAddress(OWN, port);
    }

    /** Requests of a peer that is no {@code verbena cp}: each is refused, and the server goes on. */
    @Test
    void serverRefusesRequestsThatBreakTheRules() throws Exception {
        serve();
        try (VerbsArena arena = VerbsArena.ofShared();
                Channel channel =
                        Node.open(new InetSocketAddress(OWN, 0), arena).connect(address(), DEADLINE)) {
            assertRefused(channel, new byte[0], "unknown");
            assertRefused(channel, new byte[] {99}, "unknown");
            assertRefused(channel, new byte[] {CopyWire.BEGIN, 1, 2}, "too short");
            assertRefused(channel, new byte[] {CopyWire.END}, "No file was begun");
            assertOfferRefused(channel, 10, "No file was begun");
            assertOfferRefused(channel, Inbox.PIECE + 1, "maxTransferSize");
            byte[] sum = CopyWire.sha256().digest(new byte[10]);
            begin(channel, 10, sum);
            assertOfferRefused(channel, 9, "must have 10 bytes");
            begin(channel, 10, sum);
            assertRefused(channel, new byte[] {CopyWire.END}, "only 0 have come");
            begin(channel, 10, sum);
            channel.offer(MemorySegment.ofArray(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), new byte[0], DEADLINE);
            assertOfferRefused(channel, 1, "must have 0 bytes");
            begin(channel, 10, sum); // from the beginning, because the only piece is the last one
            channel.offer(MemorySegment.ofArray(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), new byte[0], DEADLINE);
            assertRefused(channel, new byte[] {CopyWire.END}, "SHA-256 is wrong");
        }
        try (var left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
        assertThat(cp(file("name", 10), OWN + ":").status()).isZero();
    }

    private static void begin(Channel channel, long size, byte[] sum) throws Exception {
        Message begin = channel.message(DEADLINE);
        new CopyWire.Begin("x", size, sum).writeTo(begin);
        channel.call(begin, DEADLINE).close();
    }

    private static void assertRefused(Channel channel, byte[] request, String reason) throws Exception {
        Message message = channel.message(DEADLINE).length(request.length);
        MemorySegment.copy(request, 0, message.segment(), ValueLayout.JAVA_BYTE, 0, request.length);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> channel.call(message, DEADLINE))
                .withMessageContaining(reason);
    }

    private static void assertOfferRefused(Channel channel, int size, String reason) {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> channel.offer(MemorySegment.ofArray(new byte[size]), new byte[0], DEADLINE))
                .withMessageContaining(reason);
    }

    @Test
    void serverWithATokenRefusesOthers() throws Exception {
        serve("--token=secret");
        Path file = file("name", 10);
        cp(file, OWN + ":", "--token=secrer").fails("does not admit");
        assertThat(cp(file, OWN + ":").status()).isEqualTo(Tool.FAILED);
        assertThat(cp(file, OWN + ":", "--token=secret").status()).isZero();
    }

    private static Path secret(Path at, String permissions, int bytes) throws IOException {
        byte[] secret = new byte[bytes];
        Arrays.fill(secret, (byte) 7);
        return Files.setPosixFilePermissions(Files.write(at, secret), PosixFilePermissions.fromString(permissions));
    }

    @Test
    void serverWithASecretTakesFilesOfThoseWhoKnowIt(@TempDir Path secrets) throws Exception {
        String known = "--secret-file=" + secret(secrets.resolve("known"), "rw-------", 32);
        serve(known);
        Path file = file("name", 300_000);
        assertThat(cp(file, OWN + ":", known).status()).isZero();
        assertThat(cp(file, OWN + ":").err()).contains("another protection").hasLineCount(1);
        ToolRun guess = cp(file, OWN + ":", "--secret-file=" + secret(secrets.resolve("guess"), "rw-------", 31));
        assertThat(guess.err()).as(this::served).contains("has not proved").hasLineCount(1);
    }

    @Test
    void secretThatOthersCanReadIsRefused(@TempDir Path secrets) throws Exception {
        serve("--token=shown");
        assertThat(served()).contains("warning: --token");
        Path file = file("name", 10);
        for (String permissions : List.of("rw-r-----", "rw----r--", "rw--w----", "rw-----w-")) {
            Path open = secret(secrets.resolve(permissions), permissions, 32);
            assertThat(cp(file, OWN + ":", "--secret-file=" + open).err())
                    .contains("chmod 600")
                    .hasLineCount(1);
        }
        Path few = secret(secrets.resolve("few"), "rw-------", 15);
        assertThat(cp(file, OWN + ":", "--secret-file=" + few).err()).contains("16 to 4096 bytes, got 15");
    }
}
