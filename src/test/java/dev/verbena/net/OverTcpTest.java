package dev.verbena.net;

/** The tests of the protocol, over TCP. */
final class OverTcpTest {
    private OverTcpTest() {}

    @Over(Over.Wire.TCP)
    static class HealingTest extends HealTest {}

    @Over(Over.Wire.TCP)
    static class SeveralPathsTest extends PathsTest {}

    @Over(Over.Wire.TCP)
    static class MessagesTest extends ChannelTest {}

    @Over(Over.Wire.TCP)
    static class CallsTest extends CallTest {}

    @Over(Over.Wire.TCP)
    static class FuturesTest extends FutureTest {}

    @Over(Over.Wire.TCP)
    static class StylesTest extends StyleTest {}

    @Over(Over.Wire.TCP)
    static class CountsTest extends ChannelCountsTest {}

    @Over(Over.Wire.TCP)
    static class HandlersTest extends HandlerTest {}

    @Over(Over.Wire.TCP)
    static class HostilePeersTest extends HostilePeerTest {}

    @Over(Over.Wire.TCP)
    static class ExportsTest extends ExportTest {}

    @Over(Over.Wire.TCP)
    static class NoticesTest extends NoticeTest {}

    @Over(Over.Wire.TCP)
    static class TransfersTest extends TransferTest {}

    @Over(Over.Wire.TCP)
    static class CountersTest extends StatisticsTest {}

    @Over(Over.Wire.TCP)
    static class NodesTest extends NodeTest {}

    @Over(Over.Wire.TCP)
    static class ClosesTest extends NodeCloseTest {}
}
