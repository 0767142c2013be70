package dev.verbena.tools.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A field in the format of {@code ibv_devinfo}, with the fields or words below it: the next lines that have more tabs.
 *
 * @param tabs the tabs before its name
 * @param name its name; a line without a colon is a name alone
 * @param value its value; empty if it has none
 * @param below the fields below it
 */
record InfoFields(int tabs, String name, String value, List<InfoFields> below) {
    private static final Pattern FIELD = Pattern.compile("(\t*)([^:]+):\\s*(.*)");
    private static final Pattern WORD = Pattern.compile("(\t*)(.*)");
    private static final Pattern GID = Pattern.compile("GID\\[ *([0-9]+)]");

    /** Tabs before the words of a list, which may have colons. */
    private static final int TABS_OF_WORDS = 5;

    private static InfoFields of(String line) {
        Matcher field = FIELD.matcher(line);
        if (field.matches() && field.group(1).length() < TABS_OF_WORDS) {
            return new InfoFields(field.group(1).length(), field.group(2), field.group(3), new ArrayList<>());
        }
        Matcher word = WORD.matcher(line);
        return word.matches()
                ? new InfoFields(word.group(1).length(), word.group(2), "", new ArrayList<>())
                : new InfoFields(0, line, "", new ArrayList<>());
    }

    /** Returns the fields in the text about one device by name: texts, numbers, lists of words, groups, and the ports. */
    static Map<String, Object> json(String text) {
        Deque<InfoFields> path = new ArrayDeque<>();
        Map<String, Object> device = new LinkedHashMap<>();
        List<Object> ports = new ArrayList<>();
        List<InfoFields> all = new ArrayList<>();
        for (String line : text.lines().filter(line -> !line.isBlank()).toList()) {
            InfoFields field = of(line);
            boolean isPort = field.name.equals("port");
            while (!path.isEmpty() && (path.getLast().tabs >= field.tabs || isPort)) {
                path.removeLast();
            }
            (path.isEmpty() || field.tabs <= 1 ? all : path.getLast().below).add(field);
            path.addLast(field);
        }
        for (InfoFields field : all) {
            if (field.name.equals("port")) {
                Map<String, Object> port = new LinkedHashMap<>();
                port.put("port", field.plain());
                field.below.forEach(each -> each.addTo(port));
                ports.add(port);
            } else {
                field.addTo(device);
            }
        }
        device.put("ports", ports);
        return device;
    }

    private void addTo(Map<String, Object> group) {
        Matcher gid = GID.matcher(name);
        if (gid.matches()) {
            group.put("GID[" + gid.group(1) + "]", value);
        } else if (below.isEmpty()) {
            group.put(name.replace(" not supported", ""), plain());
        } else if (below.stream().allMatch(each -> each.tabs == TABS_OF_WORDS)) {
            List<String> words = below.stream().map(InfoFields::name).toList();
            if (value.isEmpty()) {
                group.put(name, words);
            } else {
                group.put(name, plain());
                group.put(name + "_names", words);
            }
        } else {
            Map<String, Object> part = new LinkedHashMap<>();
            below.forEach(each -> each.addTo(part));
            group.put(name, part);
        }
    }

    private Object plain() {
        if (value.isEmpty() && name.endsWith(" not supported")) {
            return false;
        }
        return value.matches("[0-9]{1,18}") ? (Object) Long.valueOf(value) : value;
    }
}
