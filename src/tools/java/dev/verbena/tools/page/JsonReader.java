package dev.verbena.tools.page;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads one text of JSON. */
final class JsonReader {
    /** The most levels of lists and maps: a hostile text would use up the stack. */
    private static final int DEEPEST = 100;

    private final String text;
    private int at;
    private int depth;

    JsonReader(String text) {
        this.text = text;
    }

    Object read() {
        Object value = value();
        skipSpace();
        if (at < text.length()) {
            throw wrong("nothing more");
        }
        return value;
    }

    private Object value() {
        skipSpace();
        return switch (peek()) {
            case '{' -> map();
            case '[' -> list();
            case '"' -> quoted();
            default -> word();
        };
    }

    private Map<String, Object> map() {
        Map<String, Object> map = new LinkedHashMap<>();
        begin('{');
        while (!ends('}', map.isEmpty())) {
            skipSpace();
            String name = quoted();
            skipSpace();
            expect(':');
            map.put(name, value());
        }
        return map;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        begin('[');
        while (!ends(']', list.isEmpty())) {
            list.add(value());
        }
        return list;
    }

    private void begin(char bracket) {
        expect(bracket);
        if (++depth > DEEPEST) {
            throw wrong("fewer than " + DEEPEST + " levels");
        }
    }

    /** Reads the end of a list or map, or else the comma that must be before all entries but the first. */
    private boolean ends(char bracket, boolean first) {
        skipSpace();
        if (peek() == bracket) {
            at++;
            depth--;
            return true;
        }
        if (!first) {
            expect(',');
        }
        return false;
    }

    private String quoted() {
        StringBuilder value = new StringBuilder();
        expect('"');
        for (char c = next(); c != '"'; c = next()) {
            value.append(c == '\\' ? escaped(next()) : c);
        }
        return value.toString();
    }

    private char escaped(char c) {
        return switch (c) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                String digits = text.substring(at, Math.min(at + 4, text.length()));
                if (!digits.matches("[0-9a-fA-F]{4}")) {
                    throw wrong("four hexadecimal digits");
                }
                at += 4;
                yield (char) Integer.parseInt(digits, 16);
            }
            default -> c;
        };
    }

    private Object word() {
        int start = at;
        while (Character.isLetterOrDigit(peek()) || peek() == '+' || peek() == '-' || peek() == '.') {
            at++;
        }
        String word = text.substring(start, at);
        try {
            return switch (word) {
                case "true", "false" -> Boolean.valueOf(word);
                case "null" -> "";
                default -> word.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
            };
        } catch (NumberFormatException noNumber) {
            at = start;
            throw wrong("a value");
        }
    }

    /** Returns the next character of a text, and goes on. */
    private char next() {
        if (at == text.length()) {
            throw wrong("a closing quote");
        }
        return text.charAt(at++);
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw wrong("'" + wanted + "'");
        }
        at++;
    }

    /** Returns the next character, or 0 at the end. */
    private char peek() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void skipSpace() {
        while (" \t\r\n".indexOf(peek()) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String wanted) {
        return new IllegalArgumentException("no JSON: " + wanted + " expected at character " + at);
    }
}
