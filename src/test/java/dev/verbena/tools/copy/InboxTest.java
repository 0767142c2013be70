package dev.verbena.tools.copy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Attacks the folder that files of peers go to. */
class InboxTest {
    private static final byte[] CONTENT = {1, 2, 3};
    private static final byte[] SUM = CopyWire.sha256().digest(CONTENT);
    private static final String PART = Inbox.PREFIX + HexFormat.of().formatHex(SUM);

    @TempDir
    private Path root;

    private Path folder;
    private Path outside;
    private Inbox inbox;

    @BeforeEach
    void make() throws IOException {
        folder = Files.createDirectory(root.resolve("in"));
        outside = Files.createDirectory(root.resolve("out"));
        Files.createDirectory(folder.resolve("sub"));
        Files.writeString(outside.resolve("file"), "kept");
        inbox = new Inbox(folder);
    }

    private void receive(String path) throws IOException {
        try (Inbox.Incoming file = inbox.receive(path, CONTENT.length, SUM)) {
            file.file().write(ByteBuffer.wrap(CONTENT), 0);
            file.arrived();
            file.finish();
        }
    }

    private List<String> tree() throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            return all.map(path -> root.relativize(path).toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"name", "sub/name", "...", "a b", "-rf", "sub/..name", "\u00e4", "*", "a\\b"})
    void receivesAFileInTheFolder(String path) throws IOException {
        receive(path);
        assertThat(Files.readAllBytes(folder.resolve(path))).isEqualTo(CONTENT);
        assertThat(tree()).noneMatch(name -> name.contains(Inbox.PREFIX));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/",
                "/etc/x",
                "..",
                "../out/file",
                "sub/../../out/file",
                "sub/..",
                ".",
                "./x",
                "sub//x",
                "sub/",
                "x\0y",
                ".verbena-x",
                "sub/.verbena-x",
                "missing/x",
                "new\nline",
                "\u001b[2Jx",
                "gpj.\u202etxt",
                "sub/zero\u200bwidth",
                "file-as-folder/x"
            })
    void refusesAPathOutsideOfTheFolder(String path) throws IOException {
        Files.writeString(folder.resolve("file-as-folder"), "");
        List<String> before = tree();
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive(path));
        assertThat(tree()).isEqualTo(before);
        assertThat(outside.resolve("file")).hasContent("kept");
    }

    /** What would fail when all data has come is found before. */
    @Test
    void refusesANameThatTheFileCanNotGetAtOnce() throws IOException {
        List<String> before = tree();
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> inbox.receive("sub", 3, SUM))
                .withMessageContaining("folder");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> inbox.receive("x".repeat(256), 3, SUM))
                .withMessageContaining("too long");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> inbox.receive("x".repeat(256) + "/x", 3, SUM))
                .withMessageContaining("too long");
        assertThat(tree()).isEqualTo(before);
        receive("x".repeat(255));
    }

    @Test
    void requestWithoutDataLeavesNoFile() throws IOException {
        List<String> before = tree();
        inbox.receive("name", CONTENT.length, SUM).close();
        try (Inbox.Incoming file = inbox.receive("name", CONTENT.length, SUM)) {
            assertThat(file.next()).isZero();
            assertThat(tree()).isEqualTo(before);
            file.file(); // a piece begins, and does not come
        }
        assertThat(tree()).isEqualTo(before);
        receive("name");
    }

    /** Leaves a file of which one piece has come. Returns the unfinished file. */
    private Path leave(int content) throws IOException {
        byte[] sum = CopyWire.sha256().digest(new byte[] {(byte) content});
        try (Inbox.Incoming file = inbox.receive("name", Inbox.PIECE + 1, sum)) {
            file.file();
            file.arrived();
        }
        return folder.resolve(Inbox.PREFIX + HexFormat.of().formatHex(sum));
    }

    private static void age(Path file, Duration age) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(age)));
    }

    @Test
    void onlyTheLastUnfinishedFilesAreKept() throws IOException {
        List<Path> left = new ArrayList<>();
        for (int i = 0; i < Inbox.MOST_UNFINISHED; i++) {
            left.add(leave(i));
            age(left.getLast(), Duration.ofHours(Inbox.MOST_UNFINISHED - i));
        }
        assertThat(left).allMatch(Files::exists);
        left.add(leave(Inbox.MOST_UNFINISHED));
        assertThat(left).filteredOn(Files::notExists).containsExactly(left.getFirst());
    }

    @Test
    void oldUnfinishedFilesAreForgotten() throws IOException {
        Path old = leave(1);
        Path younger = leave(2);
        Path whole = Files.createFile(folder.resolve("old"));
        age(old, Inbox.MOST_AGE.plusHours(1));
        age(younger, Inbox.MOST_AGE.minusHours(1));
        age(whole, Inbox.MOST_AGE.multipliedBy(9));
        inbox = new Inbox(folder); // another server
        receive("name");
        assertThat(old).doesNotExist();
        assertThat(List.of(younger, whole)).allMatch(Files::exists);
    }

    @Test
    void unfinishedFileThatIsBeingReceivedIsKept() throws IOException {
        try (Inbox.Incoming file = inbox.receive("name", CONTENT.length, SUM)) {
            file.file();
            age(folder.resolve(PART), Inbox.MOST_AGE.plusHours(1));
            leave(1);
            assertThat(folder.resolve(PART)).exists();
        }
    }

    /** Two servers of one folder. The second one would cut off what the first one has. */
    @Test
    void fileThatAnotherProcessReceivesIsRefused() throws IOException {
        Path part = folder.resolve(PART);
        try (Inbox.Incoming file = inbox.receive("name", CONTENT.length, SUM)) {
            file.file().write(ByteBuffer.wrap(CONTENT), 0);
            assertThat(ChildJvm.with()
                            .runOnClassPath(OtherServer.class, folder.toString())
                            .successfulOutput())
                    .contains("is being received");
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> new Inbox(folder).receive("name", CONTENT.length, SUM))
                    .withMessageContaining("is being received");
            assertThat(part).hasBinaryContent(CONTENT);
            file.arrived();
            file.finish();
        }
        assertThat(ChildJvm.with()
                        .runOnClassPath(OtherServer.class, folder.toString())
                        .successfulOutput())
                .contains("begins at 0");
    }

    /** Another process, which receives the same file. */
    static final class OtherServer {
        public static void main(String[] args) throws IOException {
            try (Inbox inbox = new Inbox(Path.of(args[0]));
                    Inbox.Incoming file = inbox.receive("name", CONTENT.length, SUM)) {
                System.out.println("begins at " + file.next());
            } catch (IOException refused) {
                System.out.println(refused.getMessage());
            }
        }
    }

    @Test
    void followsNoLinkToAFolder() throws IOException {
        Files.createSymbolicLink(folder.resolve("link"), outside);
        Files.createSymbolicLink(folder.resolve("up"), Path.of(".."));
        for (String path : List.of("link/file", "link/new", "up/out/file", "up/new")) {
            assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive(path));
        }
        assertThat(outside.resolve("file")).hasContent("kept");
        assertThat(outside.resolve("new")).doesNotExist();
        assertThat(root.resolve("new")).doesNotExist();
    }

    /** The link itself is replaced, and not the file that it leads to. */
    @Test
    void followsNoLinkToAFile() throws IOException {
        Files.createSymbolicLink(folder.resolve("name"), outside.resolve("file"));
        receive("name");
        assertThat(folder.resolve("name")).isRegularFile().hasBinaryContent(CONTENT);
        assertThat(Files.isSymbolicLink(folder.resolve("name"))).isFalse();
        assertThat(outside.resolve("file")).hasContent("kept");
    }

    /** The name of the unfinished file can be foreseen by who knows the content. */
    @Test
    void followsNoLinkInThePlaceOfTheUnfinishedFile() throws Exception {
        Files.createSymbolicLink(folder.resolve(PART), outside.resolve("file"));
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive("name"));
        assertThat(outside.resolve("file")).hasContent("kept");
        Files.delete(folder.resolve(PART));
        Files.createSymbolicLink(folder.resolve(PART), outside.resolve("new"));
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive("name"));
        assertThat(outside.resolve("new")).doesNotExist();
        Files.delete(folder.resolve(PART));
        assertThat(new ProcessBuilder("mkfifo", folder.resolve(PART).toString())
                        .start()
                        .waitFor())
                .isZero();
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive("name"));
        Files.delete(folder.resolve(PART));
        Files.createDirectory(folder.resolve(PART));
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive("name"));
    }

    /** A folder that becomes a link while a file is received: the file stays where it began. */
    @Test
    void fileStaysInItsFolderWhenALinkReplacesIt() throws IOException {
        try (Inbox.Incoming file = inbox.receive("sub/file", CONTENT.length, SUM)) {
            Files.move(folder.resolve("sub"), folder.resolve("moved"));
            Files.createSymbolicLink(folder.resolve("sub"), outside);
            file.file().write(ByteBuffer.wrap(CONTENT), 0);
            file.arrived();
            file.finish();
        }
        assertThat(outside.resolve("file")).hasContent("kept");
        assertThat(folder.resolve("moved/file")).hasBinaryContent(CONTENT);
    }

    @Test
    void doesNotReplaceAFolder() throws IOException {
        Files.writeString(folder.resolve("sub/x"), "x");
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> receive("sub"));
        assertThat(folder.resolve("sub/x")).hasContent("x");
    }

    @Test
    void keepsTheOldFileWhenTheSumIsWrong() throws IOException {
        Files.writeString(folder.resolve("name"), "old");
        try (Inbox.Incoming file = inbox.receive("name", CONTENT.length, SUM)) {
            file.file().write(ByteBuffer.wrap(new byte[3]), 0);
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(file::finish)
                    .withMessageContaining("only 0 have come");
            file.arrived();
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(file::finish)
                    .withMessageContaining("SHA-256");
        }
        assertThat(folder.resolve("name")).hasContent("old");
        assertThat(folder.resolve(PART)).doesNotExist();
    }

    /** The last piece may have holes, if the process was killed while it came. */
    @Test
    void continuesAtTheLastWholePiece() throws IOException {
        byte[] content = new byte[2 * Inbox.PIECE + 5];
        Arrays.fill(content, (byte) 7);
        byte[] sum = CopyWire.sha256().digest(content);
        try (Inbox.Incoming file = inbox.receive("name", content.length, sum)) {
            file.file().write(ByteBuffer.wrap(content, 0, Inbox.PIECE), 0);
            file.arrived();
            file.file().write(ByteBuffer.wrap(content, Inbox.PIECE, 100), Inbox.PIECE);
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> inbox.receive("other", content.length, sum))
                    .withMessageContaining("being received");
        }
        Path part = folder.resolve(Inbox.PREFIX + HexFormat.of().formatHex(sum));
        assertThat(part).hasSize(Inbox.PIECE + 1);
        Files.write(part, Arrays.copyOf(content, Inbox.PIECE + 100)); // a killed process leaves more
        try (Inbox.Incoming file = inbox.receive("name", content.length, sum)) {
            assertThat(file.next()).isEqualTo(Inbox.PIECE);
            while (file.next() < content.length) {
                file.file().write(ByteBuffer.wrap(content, (int) file.next(), (int) file.piece()), file.next());
                file.arrived();
            }
            file.finish();
        }
        assertThat(folder.resolve("name")).hasBinaryContent(content);
    }

    @Test
    void progressFitsATerminal() {
        assertThat(CopyProgress.line("name", 0, 100, 0)).contains("name", "[ ", "  0%");
        assertThat(CopyProgress.line("a-name-that-is-longer-than-its-place", 50, 100, 1.5e9))
                .hasSizeLessThanOrEqualTo(79)
                .contains("...", " 50%", "1500.0 MB/s")
                .doesNotContain("a-name");
        assertThat(CopyProgress.line("empty", 0, 0, 0)).contains("=]", "100%");
    }
}
