package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.NonWritableChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that are offered, fetched and registered, with kernels that can pin their pages and with those that can't. */
@FencedTest
@Timeout(120)
class FileTransferTest {
    private static final String REGISTER = "ibv_reg_mr_iova2";
    private static final int EFAULT = 14;
    private static final byte[] NOTHING = {};

    @TempDir
    private Path folder;

    private int live;
    private NodePair nodes;
    private NodePair.Ends ends;
    private Path source;
    private byte[] bytes;

    @BeforeEach
    void open() throws Exception {
        live = Fenced.liveObjects();
        nodes = new NodePair(SMALL, SMALL.operations(3));
        ends = nodes.connect();
        bytes = new byte[(9 << 20) + 5];
        new Random(3).nextBytes(bytes);
        source = Files.write(folder.resolve("source"), bytes);
        assertThat(source.toFile().setReadOnly()).isTrue();
    }

    @AfterEach
    void close() {
        nodes.close();
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    private Future<?> offer(long position, long size) {
        return nodes.run(() -> {
            try (FileChannel file = FileChannel.open(source)) {
                ends.client().offer(file, position, size, NOTHING, DEADLINE);
            }
        });
    }

    private Transfer incoming() throws InterruptedException {
        try (Message message = ends.server().receive(DEADLINE)) {
            return message.transfer();
        }
    }

    /** More than the memory for the pieces under way, so that it is used again. */
    @ParameterizedTest
    @CsvSource({"true, true, true", "false, false, true", "true, true, false", "false, true, true"})
    void partOfAFileArrivesInAFile(boolean mapsSource, boolean mapsTarget, boolean readable) throws Exception {
        if (!mapsSource) {
            Fenced.fail(REGISTER, 1, EFAULT);
        }
        Future<?> offered = offer(5, bytes.length - 5L);
        Path target = Files.writeString(folder.resolve("target"), "before");
        List<Long> progress = new ArrayList<>();
        try (Transfer transfer = incoming();
                FileChannel file = readable ? FileChannel.open(target, READ, WRITE) : FileChannel.open(target, WRITE)) {
            Fenced.calm();
            if (!mapsTarget) {
                Fenced.fail(REGISTER, 1, EFAULT);
            }
            transfer.fetch(file, 3, progress::add, DEADLINE);
            assertThat(Fenced.calls(REGISTER)).isEqualTo(mapsTarget ? 1 : 2);
            transfer.confirm();
        }
        end(offered);
        byte[] arrived = Files.readAllBytes(target);
        assertThat(Arrays.copyOf(arrived, 3)).asString().isEqualTo("bef");
        assertThat(Arrays.copyOfRange(arrived, 3, arrived.length))
                .isEqualTo(Arrays.copyOfRange(bytes, 5, bytes.length));
        assertThat(progress).isSorted().doesNotHaveDuplicates().endsWith(bytes.length - 5L);
    }

    @Test
    void mappedMemoryThatCanNotBePinnedIsCopied() throws Exception {
        Fenced.fail(REGISTER, 1, EFAULT);
        Future<?> offered = nodes.run(() -> {
            try (FileChannel file = FileChannel.open(source)) {
                MemorySegment data = file.map(FileChannel.MapMode.READ_ONLY, 0, bytes.length, nodes.arena);
                ends.client().offer(data, NOTHING, DEADLINE);
            }
        });
        Path target = folder.resolve("target");
        try (Transfer transfer = incoming();
                FileChannel file = FileChannel.open(target, READ, WRITE, CREATE)) {
            Fenced.calm();
            Fenced.fail(REGISTER, 1, EFAULT);
            transfer.accept(file.map(FileChannel.MapMode.READ_WRITE, 0, transfer.length(), nodes.arena), DEADLINE);
        }
        end(offered);
        assertThat(Files.readAllBytes(target)).isEqualTo(bytes);
    }

    @Test
    void emptyPartIsOffered() throws Exception {
        Future<?> offered = offer(bytes.length, 0);
        Path target = folder.resolve("target");
        try (Transfer transfer = incoming();
                FileChannel file = FileChannel.open(target, READ, WRITE, CREATE)) {
            transfer.fetch(file, 0, done -> {}, DEADLINE);
            transfer.confirm();
        }
        end(offered);
        assertThat(target).isEmptyFile();
    }

    @Test
    void offerRefusesARangeThatTheFileDoesNotHave() {
        assertThat(offer(1, bytes.length))
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(EOFException.class)
                .withMessageContaining((bytes.length + 1) + "");
        assertThat(offer(bytes.length - 2L, 5))
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withMessageContaining("file ends at " + bytes.length + " bytes, and not at " + (bytes.length + 3));
        assertThat(offer(-1, 1)).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("1 bytes at -1");
        assertThat(offer(1, Long.MAX_VALUE))
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(IllegalArgumentException.class);
        assertThat(ends.client().isOpen()).isTrue();
    }

    /** A full disk is no reason to end a channel. */
    @Test
    void fileThatCanNotBeWrittenLeavesTheTransferToBeRefused() throws Exception {
        Future<?> offered = offer(0, bytes.length);
        try (Transfer transfer = incoming();
                FileChannel full = FileChannel.open(Path.of("/dev/full"), WRITE)) {
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> transfer.fetch(full, 0, done -> {}, DEADLINE))
                    .withMessageContaining("No space left");
            transfer.refuse("the disk is full");
        }
        assertThat(offered).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("the disk is full");
        NodePair.send(ends.client(), 4);
        assertThat(NodePair.receive(ends.server())).isEqualTo(4);
    }

    @Test
    void fetchRefusesAFileThatIsOpenForReading() throws Exception {
        Future<?> offered = offer(0, 10);
        try (Transfer transfer = incoming();
                FileChannel file = FileChannel.open(source)) {
            assertThatExceptionOfType(NonWritableChannelException.class)
                    .isThrownBy(() -> transfer.fetch(file, 0, done -> {}, DEADLINE));
            assertThatIllegalArgumentException().isThrownBy(() -> transfer.fetch(file, -1, done -> {}, DEADLINE));
            transfer.confirm(); // without the data, which this side has
        }
        end(offered);
    }

    @ParameterizedTest
    @CsvSource({"0", "1"})
    void fileIsRegisteredForExportAlsoIfItIsReadOnly(int refusals) throws Exception {
        MemoryRegion region;
        if (refusals > 0) {
            Fenced.fail(REGISTER, 1, EFAULT);
        }
        try (FileChannel file = FileChannel.open(source)) {
            region = nodes.server.register(file, 4096, bytes.length - 4096L, AccessFlag.REMOTE_READ);
        }
        nodes.server.export("file", region.segment(), AccessFlag.REMOTE_READ);
        LocalMemory local = nodes.client.register(nodes.arena.allocate(100), AccessFlag.LOCAL_WRITE);
        ends.client().read(local, ends.client().remote("file", DEADLINE).slice(1000, 100), DEADLINE);
        assertThat(local.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(bytes, 5096, 5196));
    }

    @Test
    void fileIsRegisteredForWritingOrTheMessageSaysWhatToDo() throws Exception {
        Path target = folder.resolve("target");
        try (FileChannel file = FileChannel.open(target, READ, WRITE, CREATE)) {
            MemoryRegion region = nodes.client.register(file, 10, 20, List.of(AccessFlag.LOCAL_WRITE), nodes.arena);
            region.segment().fill((byte) 3);
            assertThat(target).hasSize(30);
            assertThat(Files.readAllBytes(target)[29]).isEqualTo((byte) 3);
            Fenced.fail(REGISTER, 1, EFAULT);
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> nodes.client.register(file, 0, 20, List.of(AccessFlag.LOCAL_WRITE), nodes.arena))
                    .withMessageContaining("tmpfs");
        }
        try (FileChannel file = FileChannel.open(source)) {
            assertThatExceptionOfType(NonWritableChannelException.class)
                    .isThrownBy(() -> nodes.client.register(file, 0, 20, List.of(AccessFlag.LOCAL_WRITE), nodes.arena));
            assertThatIllegalArgumentException().isThrownBy(() -> nodes.client.register(file, 0, 0));
        }
    }
}
