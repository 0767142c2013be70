package dev.verbena.tools.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Texts of peers on a terminal. */
class PeerTextTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "\u001b",
                "\u009b",
                "\r",
                "\n",
                "\t",
                "\b",
                "\u007f",
                "\u202a",
                "\u202e",
                "\u2066",
                "\u2069",
                "\u200e",
                "\u200b",
                "\ufeff",
                "\u2028",
                "\u2029",
                "\udb40\udc41"
            })
    void whatCommandsATerminalIsReplaced(String harmful) {
        assertThat(PeerText.harmless("a" + harmful + "b")).isEqualTo("a?b");
        assertThat(PeerText.isHarmless("a" + harmful)).isFalse();
    }

    @Test
    void halfOfACharacterIsReplaced() {
        assertThat(PeerText.harmless("a\ud800b")).isEqualTo("a?b");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "plain text", "\u00e4\u05d0\u4e2d", "\ud83c\udf3f", "e\u0301"})
    void otherTextStays(String text) {
        assertThat(PeerText.harmless(text)).isEqualTo(text);
        assertThat(PeerText.isHarmless(text)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"a\u001b[2Jb, a?[2Jb", "txt.\u202egpj, txt.?gpj", "'one\n two', one two"})
    void failureInOneLineIsHarmless(String message, String shown) {
        assertThat(Tool.inOneLine(new IOException(message))).isEqualTo(shown);
    }

    @Test
    void stackOfAFailureIsHarmless() {
        Program program = new Program(List.of(new Tool("fail", "fails", (args, out) -> {
            throw new IOException("the peer says \u001b[2J\u202e");
        })));
        ToolRun run = ToolRun.of(program, "fail", "--debug");
        assertThat(run.err()).contains("\n\tat ");
        assertThat(run.err().lines()).map(String::strip).allMatch(PeerText::isHarmless);
    }
}
