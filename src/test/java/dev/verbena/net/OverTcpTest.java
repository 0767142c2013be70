package dev.verbena.net;

import dev.verbena.support.FencedTest;
import java.nio.file.Path;

/**
 * The tests of the protocol, over TCP. A method without a body is a test of a device or its driver, which these nodes do not
 * have.
 */
final class OverTcpTest {
    private OverTcpTest() {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class HealingTest extends HealTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class SeveralPathsTest extends PathsTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class MessagesTest extends ChannelTest {
        @Override
        void sendThatDriverRefusesLeavesTheMessageToTheProgram() {}

        @Override
        void channelRegistersTheMemoryThatTheOptionsSay(Path folder) {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class CallsTest extends CallTest {
        @Override
        void replyThatDriverRefusesCanBeSentAgain() {}

        @Override
        void callsThatAreNotSentTakeNoNumber() {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class FuturesTest extends FutureTest {
        @Override
        void futureOfATicketEndsTheWaitForIt() {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class StylesTest extends StyleTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class CountsTest extends ChannelCountsTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class HandlersTest extends HandlerTest {
        @Override
        void messagesFlowWhileAnotherPeerIsAccepted() {}

        @Override
        void messagesFlowInBothDirectionsWhileAChannelIsMade(String function) {}

        @Override
        void handlerThatThrowsWhileTheDriverRefusesEndsItsChannelOnly() {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class HostilePeersTest extends HostilePeerTest {
        @Override
        void memoryForMessagesComesAfterAdmission(boolean admitted, Path folder) {}

        @Override
        void registeringForOnePeerHoldsUpNoOther(boolean leaves) {}

        @Override
        void peerWithFewerReceivesThanItSaysLosesItsChannel() {}

        @Override
        void idleChannelNoticesThatThePeersAdapterIsGone() {}

        @Override
        void serverThatIsNoNodeIsGivenUp() {} // TcpPeerTest: connectionToAServerThatSaysNothingIsClosed

        @Override
        void addressWithoutListenerIsUnreachable() {} // TcpPeerTest: connectingWhereNobodyListensIsUnreachable
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class ExportsTest extends ExportTest {
        @Override
        void exportsWithBadArgumentsAreRefused() {}

        @Override
        void windowThatCanNotBeMadeIsAFaultOnly() {}

        @Override
        void channelEndsWhileTheArenaOfAnExportIsBusy() {}

        @Override
        void closeThatCRefusesCanBeRepeated() {} // C frees a window

        @Override
        void exportsOfOneNameAtOnceLeaveOne() {}

        @Override
        void exportDescribesItselfAndClosesItsRegistration() {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class NoticesTest extends NoticeTest {
        @Override
        void noticeThatDriverRefusesLeavesNothingBehind() {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class TransfersTest extends TransferTest {
        @Override
        void peerThatLiesAboutItsOfferLosesItsChannelOnly(long size) {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class TransferEndsTest extends TransferEndTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class CountersTest extends StatisticsTest {}

    @FencedTest
    @Over(Over.Wire.TCP)
    static class NodesTest extends NodeTest {
        @Override
        void moreChannelsThanTheDeviceHasRoomForAreRefused() {}

        @Override
        void connectThatIsRefusedAtOnceIsUnreachable(int errno) {}

        @Override
        void openWithoutMemoryLeavesNothingBehind(String function, int nth) {}

        @Override
        void connectWithoutMemoryLeavesNothingBehind(String function, int nth) {}
    }

    @FencedTest
    @Over(Over.Wire.TCP)
    static class ClosesTest extends NodeCloseTest {
        @Override
        int rounds() {
            return 10;
        }

        @Override
        void nodeWaitsForAThreadThatFreesAChannel() {}
    }
}
