package dev.verbena.net;

/** The tests of the protocol, with a secret. */
final class OverSealedTest {
    private OverSealedTest() {}

    @Over(Over.Wire.SEALED_RDMA)
    static class HealingTest extends HealTest {}

    @Over(Over.Wire.SEALED_TCP)
    static class HealingOverTcpTest extends HealTest {}

    @Over(Over.Wire.AUTHENTICATED_RDMA)
    static class AuthenticatedHealingTest extends HealTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class HealingFaultsTest extends HealFaultsTest {
        @Override
        int step() {
            return 25;
        }
    }

    @Over(Over.Wire.SEALED_RDMA)
    static class SeveralPathsTest extends SeveralDevicesPathsTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class MessagesTest extends ChannelTest {}

    @Over(Over.Wire.SEALED_TCP)
    static class MessagesOverTcpTest extends ChannelTest {}

    @Over(Over.Wire.SEALED_IWARP)
    static class CallsOverIwarpTest extends CallTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class CallsTest extends CallTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class FuturesTest extends FutureTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class StylesTest extends StyleTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class CountsTest extends ChannelCountsTest {}

    @Over(Over.Wire.SEALED_IWARP)
    static class StylesOverIwarpTest extends StyleTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class HandlersTest extends HandlerTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class NoticesTest extends NoticeTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class TransfersTest extends TransferTest {}

    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class ExportsWithoutWindowsTest extends ExportTest {}

    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class TransfersWithoutWindowsTest extends TransferTest {}

    @Over(Over.Wire.AUTHENTICATED_RDMA)
    static class AuthenticatedTransfersTest extends TransferTest {}

    @Over(Over.Wire.SEALED_TCP)
    static class CountersTest extends StatisticsTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class NodesTest extends NodeTest {}

    @Over(Over.Wire.SEALED_RDMA)
    static class ClosesTest extends NodeCloseTest {}

    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class ClosesWithoutWindowsTest extends NodeCloseTest {}
}
