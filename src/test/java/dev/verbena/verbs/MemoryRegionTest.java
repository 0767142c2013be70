package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.FLUSH_GLOBAL;
import static dev.verbena.verbs.AccessFlag.FLUSH_PERSISTENT;
import static dev.verbena.verbs.AccessFlag.HUGETLB;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.RELAXED_ORDERING;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Twin;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What can be registered, with which rights, and what is said when it can't. */
@DeviceTest
class MemoryRegionTest {
    private static final long SIZE = 8192;

    @TempDir
    private Path folder;

    private Loopback loopback;
    private ProtectionDomain domain;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        domain = loopback.domain;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private MemorySegment memory() {
        return loopback.arena.allocate(SIZE, 4096);
    }

    /** A file, mapped for reading only. */
    private MemorySegment mapped(String text) throws IOException {
        Path file = Files.writeString(folder.resolve("data"), text);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, text.length(), loopback.arena);
        }
    }

    static Stream<Set<AccessFlag>> taken() {
        return Stream.of(
                Set.of(),
                Set.of(REMOTE_READ),
                Set.of(LOCAL_WRITE),
                Set.of(LOCAL_WRITE, REMOTE_WRITE),
                Set.of(LOCAL_WRITE, REMOTE_READ),
                Set.of(LOCAL_WRITE, REMOTE_ATOMIC),
                Set.of(LOCAL_WRITE, MW_BIND),
                Set.of(LOCAL_WRITE, RELAXED_ORDERING),
                Set.of(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, MW_BIND));
    }

    @ParameterizedTest
    @MethodSource("taken")
    void registerAcceptsRightsOfEveryDevice(Set<AccessFlag> access) {
        MemorySegment memory = memory();
        MemoryRegion region = domain.register(memory, access, loopback.arena);
        assertThat(region.access()).isEqualTo(access);
        assertThat(region.address()).isEqualTo(memory.address());
        assertThat(region.length()).isEqualTo(SIZE);
        assertThat(region.segment()).isEqualTo(memory);
        assertThat(region.domain()).isEqualTo(domain);
        assertThat(region.remote()).isEqualTo(new RemoteMemory(memory.address(), region.remoteKey(), SIZE));
        assertThat(region.toString()).contains("8 KiB", "lkey 0x" + Integer.toHexString(region.localKey()));
    }

    static Stream<AccessFlag> rare() {
        return Stream.of(HUGETLB, ON_DEMAND, FLUSH_GLOBAL, FLUSH_PERSISTENT);
    }

    @ParameterizedTest
    @MethodSource("rare")
    void registerAcceptsRareRightOrNamesItInTheRefusal(AccessFlag flag) {
        Set<AccessFlag> access = Set.of(LOCAL_WRITE, flag);
        try {
            assertThat(domain.register(memory(), access, loopback.arena).access())
                    .isEqualTo(access);
        } catch (VerbsException refused) {
            assertThat(refused.errno()).isIn(Errno.EINVAL, Errno.EOPNOTSUPP);
            assertThat(refused).hasMessageContaining("ibv_reg_mr").hasMessageContaining(flag.toString());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = AccessFlag.class,
            names = {"REMOTE_WRITE", "REMOTE_ATOMIC"})
    @Fault("remote-without-local")
    @Twin("test_mr.MRTest.test_reg_mr_bad_flags")
    void registerRefusesRemoteWriteWithoutLocalWrite(AccessFlag flag) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(memory(), flag))
                .withMessageContaining("LOCAL_WRITE")
                .withMessageContaining(flag.toString());
    }

    @Test
    void registerRefusesHeapSegments() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(MemorySegment.ofArray(new byte[64])))
                .withMessageContaining("heap")
                .withMessageContaining("VerbsArena.allocate()");
    }

    @Test
    @Fault("empty-region")
    void registerRefusesEmptySegments() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(loopback.arena.allocate(0)))
                .withMessageContaining("empty");
    }

    @Test
    void registerRefusesReadOnlySegmentsForWriting() throws IOException {
        MemorySegment memory = mapped("read only");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(memory, LOCAL_WRITE))
                .withMessageContaining("read-only");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(memory().asReadOnly(), LOCAL_WRITE))
                .withMessageContaining("read-only");
    }

    private void assertAPeerReads(MemoryRegion file, String text) throws Exception {
        loopback.left.pair.postRead(1, loopback.left.buffer.slice(0, text.length()), file.remote());
        loopback.left.done();
        assertThat(loopback.left.buffer.segment().asSlice(0, text.length()).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void registeredMappedFileIsReadByPeer() throws Exception {
        String text = "straight out of the page cache";
        Path file = Files.writeString(folder.resolve("data"), text);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment memory = channel.map(FileChannel.MapMode.PRIVATE, 0, text.length(), loopback.arena);
            assertAPeerReads(domain.register(memory, REMOTE_READ), text);
        }
    }

    @Test
    @Fault("read-only-for-nothing")
    void registerAcceptsAReadOnlyMappingOrAdvises() throws Exception {
        MemorySegment memory = mapped("read only");
        MemoryRegion file;
        try {
            file = domain.register(memory, REMOTE_READ);
        } catch (VerbsException beforeLinux62) {
            assertThat(beforeLinux62).hasMessageContaining("EFAULT").hasMessageContaining("PRIVATE");
            return;
        }
        assertAPeerReads(file, "read only");
    }

    @Test
    @Fault("read-only")
    void registerExplainsAReadOnlyMapping() throws IOException {
        MemorySegment mapped = mapped("read only");
        MemorySegment disguised = MemorySegment.ofAddress(mapped.address()).reinterpret(mapped.byteSize());
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> domain.register(disguised, LOCAL_WRITE))
                .withMessageContaining("EFAULT")
                .withMessageContaining("read-only")
                .satisfies(e -> assertThat(e.errno()).isEqualTo(Errno.EFAULT));
    }

    @Test
    @Fault("unmapped")
    void registerExplainsUnmappedMemory() {
        MemorySegment nowhere = MemorySegment.ofAddress(0x1000).reinterpret(4096);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> domain.register(nowhere, LOCAL_WRITE))
                .withMessageContaining("4 KiB at 0x1000")
                .withMessageContaining("EFAULT")
                .withMessageContaining("not mapped");
    }

    @Test
    void registerFailureLeavesNothingBehind() {
        MemorySegment nowhere = MemorySegment.ofAddress(0x1000).reinterpret(4096);
        ProtectionDomain other = loopback.context.allocateProtectionDomain();
        assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> other.register(nowhere));
        other.close();
        assertThat(other.isOpen()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 100, 3 << 20})
    void fillSetsAllBytesAndNoMore(long size) {
        MemorySegment memory = loopback.arena.allocate(size + 2, 8);
        MemoryRegion region = domain.register(memory, LOCAL_WRITE);
        region.slice(1, size).fill((byte) -7);
        assertThat(memory.asSlice(1, size).mismatch(filled(size, (byte) -7))).isEqualTo(-1);
        assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isZero();
        assertThat(memory.get(ValueLayout.JAVA_BYTE, size + 1)).isZero();
        region.fill((byte) 1);
        assertThat(memory.mismatch(filled(size + 2, (byte) 1))).isEqualTo(-1);
    }

    private MemorySegment filled(long size, byte value) {
        return loopback.arena.allocate(size).fill(value);
    }

    @Test
    void fillOfTruncatedMappedFileSucceedsOrThrowsInJava() throws Exception {
        Path file = Files.createFile(folder.resolve("data"));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8192, loopback.arena);
            MemoryRegion region = domain.register(memory, LOCAL_WRITE);
            region.fill((byte) 3);
            assertThat(Files.readAllBytes(file)).hasSize(8192).containsOnly(3);
            channel.truncate(0);
            assertThatThrownBy(() -> region.fill((byte) 4)).isInstanceOf(InternalError.class);
        }
    }

    @Test
    void fillRefusesFreedMemory() {
        Arena foreign = Arena.ofConfined();
        MemoryRegion region =
                domain.register(RegionOptions.foreign(foreign.allocate(64)).access(LOCAL_WRITE), loopback.arena);
        foreign.close();
        assertThatThrownBy(() -> region.fill((byte) 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was freed before");
    }

    @Test
    void fillRefusesReadOnlyRegions() {
        MemoryRegion region = domain.register(loopback.arena.allocate(8).asReadOnly());
        assertThatThrownBy(() -> region.fill((byte) 1))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("read-only");
    }
}
