package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.ledger.Covers;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Twin;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Keys for parts of memory regions. */
@DeviceTest
class MemoryWindowTest {
    private static final int LENGTH = 1024;
    private static final int TIMES = 10;

    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;
    private MemoryRegion target;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        left = loopback.left;
        right = loopback.right;
        target = loopback.domain.register(loopback.arena.allocate(4096, 4096), LOCAL_WRITE, MW_BIND);
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    /** A window of the right side's that covers the beginning of its target. */
    private MemoryWindow bound(MemoryWindow.Type type) throws Exception {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(type);
        right.pair.postBind(100, window, target.slice(0, LENGTH), Set.of(REMOTE_WRITE, LOCAL_WRITE));
        WorkCompletion done = right.done();
        assertThat(done.id()).isEqualTo(100);
        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.BIND_MW);
        return window;
    }

    private void write(RemoteMemory remote) throws Exception {
        for (long i = 1; i <= TIMES; i++) {
            left.buffer.segment().set(JAVA_LONG, 0, i);
            left.pair.postWrite(i, left.buffer.slice(0, remote.length()), remote);
            left.done();
            assertThat(target.segment().get(JAVA_LONG, 0)).isEqualTo(i);
        }
    }

    private void writeIsRefused(RemoteMemory remote) throws Exception {
        left.pair.postWrite(1, left.buffer.slice(0, remote.length()), remote);
        assertThat(left.next().status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    @Twin("test_mr.MWTest.test_mw_type1")
    void type1WindowAllowsRemoteWrites() throws Exception {
        write(bound(MemoryWindow.Type.TYPE_1).remote());
    }

    @Test
    @Twin("test_mr.MWTest.test_invalidate_mw_type1")
    void type1WindowRefusesAccessWhenUnbound() throws Exception {
        MemoryWindow window = bound(MemoryWindow.Type.TYPE_1);
        RemoteMemory remote = window.remote();
        write(remote);

        right.pair.postUnbind(2, window);
        right.done();
        assertThatThrownBy(window::remote)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not bound");
        writeIsRefused(remote);
    }

    @Test
    @Twin("test_mr.MWTest.test_mw_type2")
    @Covers("ibv_inc_rkey")
    void type2WindowAllowsRemoteWrites() throws Exception {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        int next = window.nextRemoteKey();
        assertThat(next).isEqualTo(window.remoteKey() & ~0xff | window.remoteKey() + 1 & 0xff);

        right.pair.postBind(1, window, target.slice(0, LENGTH), Set.of(REMOTE_WRITE));
        right.done();
        assertThat(window.remoteKey()).isEqualTo(next);
        write(window.remote());
    }

    @Test
    @Twin("test_mr.MWTest.test_mw_type2_invalidate_local")
    void invalidatedWindowRefusesAccess() throws Exception {
        RemoteMemory remote = bound(MemoryWindow.Type.TYPE_2).remote();
        write(remote);

        right.pair.postLocalInvalidate(2, remote.key());
        assertThat(right.done().opcode()).isEqualTo(WorkCompletion.Opcode.LOCAL_INVALIDATE);
        writeIsRefused(remote);
    }

    @Test
    @Twin("test_mr.MWTest.test_mw_type2_invalidate_remote")
    void sendWithInvalidateEndsTheKey() throws Exception {
        RemoteMemory remote = bound(MemoryWindow.Type.TYPE_2).remote();
        write(remote);

        right.pair.postReceive(3, right.buffer);
        left.pair.postSendInvalidate(4, left.buffer.slice(0, 8), remote.key());
        assertThat(left.done().hasInvalidated())
                .as("of the receiver's end only")
                .isFalse();
        WorkCompletion received = right.done();
        assertThat(received.flags())
                .as("soft-RoCE hands on the kernel's bit, which is another flag's in C")
                .containsAnyOf(WorkCompletion.Flag.WITH_INVALIDATE, WorkCompletion.Flag.IP_CSUM_OK);
        assertThat(received.hasImmediate()).isFalse();
        assertThat(received.invalidatedKey()).isEqualTo(remote.key());
        writeIsRefused(remote);
    }

    @Test
    @Twin("test_mr.MWTest.test_mw_type2_invalidate_dealloc")
    void closedWindowRefusesAccess() throws Exception {
        MemoryWindow window = bound(MemoryWindow.Type.TYPE_2);
        RemoteMemory remote = window.remote();
        write(remote);

        window.close();
        writeIsRefused(remote);
    }

    @Test
    @Twin("test_mr.MWTest.test_reg_mw_wrong_type")
    void bindRefusesTheWrongType() {
        assertThatThrownBy(() -> loopback.domain.allocateMemoryWindow(MemoryWindow.Type.UNKNOWN))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void bindAgainSucceedsAfterInvalidation() throws Exception {
        MemoryWindow window = bound(MemoryWindow.Type.TYPE_2);
        RemoteMemory first = window.remote();
        SendBatch batch = right.pair.sendBatch(2);
        batch.localInvalidate(1, first.key());
        batch.bind(2, window, target.slice(8, 16), Set.of(REMOTE_WRITE, REMOTE_READ))
                .fence();
        assertThat(batch.post()).isEqualTo(2);
        assertThat(right.done().opcode()).isEqualTo(WorkCompletion.Opcode.LOCAL_INVALIDATE);
        assertThat(right.done().opcode()).isEqualTo(WorkCompletion.Opcode.BIND_MW);

        RemoteMemory second = window.remote();
        assertThat(second.key()).isNotEqualTo(first.key());
        assertThat(second.address()).isEqualTo(first.address() + 8);
        target.segment().set(JAVA_LONG, 16, 4711);
        left.pair.postRead(3, left.buffer.slice(0, 8), second.slice(8, 8));
        left.done();
        assertThat(left.buffer.segment().get(JAVA_LONG, 0)).isEqualTo(4711);
    }

    @Test
    void bindRefusesRangesBeyondTheRegion() throws Exception {
        RemoteMemory remote = bound(MemoryWindow.Type.TYPE_2).remote(); // beyond the window, soft-RoCE lets a peer go
        writeIsRefused(new RemoteMemory(remote.address() + target.length() - 8, remote.key(), remote.length()));
    }

    @Test
    void bindRefusesWindowTwiceInABatch() {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        int key = window.remoteKey();
        SendBatch batch = right.pair.sendBatch(2);
        batch.bind(1, window, target, Set.of(REMOTE_WRITE)).bind(2, window, target, Set.of(REMOTE_WRITE));

        assertThatThrownBy(batch::post)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("same batch");
        assertThat(window.remoteKey()).isEqualTo(key);
        batch.clear().bind(3, window, target, Set.of(REMOTE_WRITE));
        assertThat(batch.post()).as("the refusal left it free").isEqualTo(1);
    }

    @Test
    void bindRefusesRightsThatTheRegionLacks() {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        MemoryRegion readOnly = loopback.domain.register(loopback.arena.allocate(64), MW_BIND);
        SendBatch batch = right.pair.sendBatch(1);

        assertThatThrownBy(() -> batch.bind(1, window, right.buffer, Set.of(REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("MW_BIND");
        assertThatThrownBy(() -> batch.bind(1, window, readOnly, Set.of(REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LOCAL_WRITE");
        assertThatThrownBy(() -> batch.bind(1, window, target.slice(0, 0), Set.of(REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0 bytes");
        assertThat(batch.size()).isZero();
    }

    @Test
    void bindRefusesClosedWindowsAndRegions() {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        MemoryRegion region = loopback.domain.register(loopback.arena.allocate(64), LOCAL_WRITE, MW_BIND);
        SendBatch batch = right.pair.sendBatch(1);
        batch.bind(1, window, region, Set.of(REMOTE_WRITE));
        region.close();
        assertThatThrownBy(batch::post)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");

        batch.clear().bind(2, window, target, Set.of(REMOTE_WRITE));
        window.close();
        assertThatThrownBy(batch::post)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
    }

    @Test
    void batchRefusesWindowsOfType1() {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);

        assertThatThrownBy(() -> right.pair.sendBatch(1).bind(1, window, target, Set.of(REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("TYPE_2");
        assertThatThrownBy(() -> right.pair.postUnbind(1, window))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not bound");
    }

    @Test
    void closeOfRegionIsRefusedWhileWindowIsBound() throws Exception {
        MemoryWindow window = bound(MemoryWindow.Type.TYPE_2);
        try {
            target.close();
            assertThat(target.isOpen()).as("some devices let it go").isFalse();
        } catch (VerbsException e) {
            assertThat(e).hasMessageContaining("ibv_dereg_mr").hasMessageContaining("memory window");
            assertThat(target.isOpen()).isTrue();
            window.close();
            target.close();
        }
    }

    @Test
    void arenaClosesWindowBeforeRegion() throws Exception {
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2); // older than the region
        MemoryRegion region = loopback.domain.register(loopback.arena.allocate(64), LOCAL_WRITE, MW_BIND);
        right.pair.postBind(1, window, region, Set.of(REMOTE_WRITE));
        right.done();

        loopback.arena.close();
        assertThat(region.isOpen()).isFalse();
        connect();
    }

    @Test
    void failedBindingNamesItsOperation() throws Exception {
        MemoryWindow window = bound(MemoryWindow.Type.TYPE_2);
        right.pair.postBind(5, window, target, Set.of(REMOTE_WRITE)); // it is bound already

        WorkCompletion failed = right.next();
        assertThat(failed.isSuccess()).isFalse();
        assertThat(failed.operation()).isEqualTo(Operation.BIND_MW);
    }

    @Test
    void sendInvalidatesOrCarriesImmediateNotBoth() {
        SendBatch batch = left.pair.sendBatch(2);
        assertThatThrownBy(() -> batch.send(1).immediate(1).invalidate(1)).isInstanceOf(IllegalStateException.class);
        batch.clear();
        assertThatThrownBy(() -> batch.send(1).invalidate(1).immediate(1)).isInstanceOf(IllegalStateException.class);
        batch.clear();
        assertThatThrownBy(() -> batch.localInvalidate(1, 1).and(left.buffer))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no data");
    }
}
