package dev.verbena.tools.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads JSON of others, and of this package. */
class JsonReaderTest {
    @Test
    void readReturnsMapsListsTextsNumbersAndBooleans() {
        assertThat(Json.read(" {\"a\":[1,-2,1.5,2e3,true,false,null],\"b\":{},\"c\":[],\"d\":\"x\"} "))
                .isEqualTo(Map.of(
                        "a", List.of(1L, -2L, 1.5, 2000.0, true, false, ""), "b", Map.of(), "c", List.of(), "d", "x"));
    }

    @Test
    void readUndoesEscapes() {
        assertThat(Json.read("\"a\\\"b\\\\c\\/d\\n\\t\\u0041\\u00e4\"")).isEqualTo("a\"b\\c/d\n\tAä");
    }

    @Test
    void readReadsWhatOfWrites() {
        Map<String, Object> value = Json.map("text", "a\u0001\"\\\n", "list", List.of(1L, List.of()), "flag", true);
        assertThat(Json.read(Json.of(value))).isEqualTo(value);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[",
                "\"",
                "\"\\",
                "\"\\u00",
                "\"\\u00g0\"",
                "{\"a\"}",
                "{\"a\":1,}",
                "[1,]",
                "[1 2]",
                "[1]]",
                "nul",
                "-",
                "{1:2}",
                "Failed to open"
            })
    void readRefusesWhatIsNoJson(String text) {
        assertThatThrownBy(() -> Json.read(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("no JSON: ");
    }

    @Test
    void readRefusesTooManyLevels() {
        assertThatThrownBy(() -> Json.read("[".repeat(100_000)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("levels");
    }
}
