package dev.verbena.tools.page;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Writes and reads values as JSON: maps, collections, numbers, booleans and texts. */
public final class Json {
    private Json() {}

    /**
     * Returns a value as JSON, each entry of a map or collection on a line of its own.
     *
     * @param value a map, a collection, a number, a boolean or a text
     * @return the JSON
     */
    public static String of(Object value) {
        StringBuilder text = new StringBuilder();
        write(text, value, "\n");
        return text.append('\n').toString();
    }

    /**
     * Returns a map in the order of its entries.
     *
     * @param entries names and values by turns
     * @return a map that can be changed
     */
    public static Map<String, Object> map(Object... entries) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            map.put(String.valueOf(entries[i]), entries[i + 1]);
        }
        return map;
    }

    /**
     * Reads JSON.
     *
     * @param text the JSON
     * @return a map, a list, a text, a boolean, or a number as a {@code Long} or {@code Double}; an empty text for null
     * @throws IllegalArgumentException if the text is no JSON
     */
    public static Object read(String text) {
        return new JsonReader(text).read();
    }

    private static void write(StringBuilder text, Object value, String line) {
        switch (value) {
            case Map<?, ?> map -> {
                String separator = "";
                text.append('{');
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    text.append(separator).append(line).append("  ");
                    quote(text, String.valueOf(entry.getKey()));
                    write(text.append(": "), entry.getValue(), line + "  ");
                    separator = ",";
                }
                text.append(map.isEmpty() ? "" : line).append('}');
            }
            case Collection<?> all -> {
                String separator = "";
                text.append('[');
                for (Object each : all) {
                    write(text.append(separator).append(line).append("  "), each, line + "  ");
                    separator = ",";
                }
                text.append(all.isEmpty() ? "" : line).append(']');
            }
            case Double number -> text.append(String.format(Locale.ROOT, "%.3f", number));
            case Number number -> text.append(number);
            case Boolean flag -> text.append(flag);
            default -> quote(text, String.valueOf(value));
        }
    }

    private static void quote(StringBuilder text, String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '"', '\\' -> text.append('\\').append(c);
                case '\n' -> text.append("\\n");
                case '\t' -> text.append("\\t");
                default -> text.append(c < ' ' ? String.format(Locale.ROOT, "\\u%04x", (int) c) : String.valueOf(c));
            }
        }
        text.append('"');
    }
}
