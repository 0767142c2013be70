package dev.verbena.net;

import dev.verbena.support.FencedTest;
import java.nio.file.Path;

/** The tests of the protocol, with a secret. A method without a body is a test of what is another way then. */
final class OverSealedTest {
    private OverSealedTest() {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class HealingTest extends HealTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_TCP)
    static class HealingOverTcpTest extends HealTest {}

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_RDMA)
    static class AuthenticatedHealingTest extends HealTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class HealingFaultsTest extends HealFaultsTest {
        @Override
        int step() {
            return 25;
        }
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class SeveralPathsTest extends SeveralDevicesPathsTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class MessagesTest extends ChannelTest {
        @Override
        void sendThatDriverRefusesLeavesTheMessageToTheProgram() {} // the channel ends: a number of its seal is used

        @Override
        void channelRegistersTheMemoryThatTheOptionsSay(Path folder) {}
    }

    @FencedTest
    @Over(Over.Wire.SEALED_TCP)
    static class MessagesOverTcpTest extends ChannelTest {
        @Override
        void sendThatDriverRefusesLeavesTheMessageToTheProgram() {}

        @Override
        void channelRegistersTheMemoryThatTheOptionsSay(Path folder) {}
    }

    @FencedTest
    @Over(Over.Wire.SEALED_IWARP)
    static class CallsOverIwarpTest extends CallTest {
        @Override
        void replyThatDriverRefusesCanBeSentAgain() {} // the channel ends

        @Override
        void callsThatAreNotSentTakeNoNumber() {} // the channel ends
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class CallsTest extends CallTest {
        @Override
        void replyThatDriverRefusesCanBeSentAgain() {} // the channel ends

        @Override
        void callsThatAreNotSentTakeNoNumber() {} // the channel ends
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class FuturesTest extends FutureTest {
        @Override
        void endOfTheChannelIsThatOfItsFutures() {} // memory that was not found can't be asked for
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class StylesTest extends StyleTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class CountsTest extends ChannelCountsTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_IWARP)
    static class StylesOverIwarpTest extends StyleTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class HandlersTest extends HandlerTest {
        @Override
        void handlersGetTheSameObjectsAgain() {} // there are more receives

        @Override
        void handlerThatThrowsWhileTheDriverRefusesEndsItsChannelOnly() {} // without a goodbye
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class NoticesTest extends NoticeTest {
        @Override
        void noticeThatDriverRefusesLeavesNothingBehind() {} // the channel ends
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class TransfersTest extends TransferTest {
        @Override
        void peerThatLiesAboutItsOfferLosesItsChannelOnly(long size) {}
    }

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class TransferEndsTest extends TransferEndTest {}

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class ExportsWithoutWindowsTest extends ExportTest {
        @Override
        void windowThatCanNotBeMadeIsAFaultOnly() {}

        @Override
        void channelEndsWhileTheArenaOfAnExportIsBusy() {} // it ends with the windows, which are in that arena

        @Override
        void closeThatCRefusesCanBeRepeated() {} // C frees a window
    }

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class TransfersWithoutWindowsTest extends TransferTest {
        @Override
        void peerThatLiesAboutItsOfferLosesItsChannelOnly(long size) {}
    }

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class TransferEndsWithoutWindowsTest extends TransferEndTest {}

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_RDMA)
    static class AuthenticatedTransfersTest extends TransferTest {
        @Override
        void peerThatLiesAboutItsOfferLosesItsChannelOnly(long size) {}
    }

    @FencedTest
    @Over(Over.Wire.SEALED_TCP)
    static class CountersTest extends StatisticsTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class NodesTest extends NodeTest {}

    @FencedTest
    @Over(Over.Wire.SEALED_RDMA)
    static class ClosesTest extends NodeCloseTest {
        @Override
        int rounds() {
            return 10;
        }
    }

    @FencedTest
    @Over(Over.Wire.AUTHENTICATED_WITHOUT_WINDOWS)
    static class ClosesWithoutWindowsTest extends NodeCloseTest {
        @Override
        int rounds() {
            return 10;
        }
    }
}
