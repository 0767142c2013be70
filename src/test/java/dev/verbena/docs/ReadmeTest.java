package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.Rdma;
import dev.verbena.support.SourceTree;
import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.commonmark.node.Code;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Tests the README and the chapters in {@code src/docs}: links, programs, snippets and commands. */
class ReadmeTest {
    /** The folders whose files the build compiles; those of engines are compiled in long runs. */
    private static final List<Path> COMPILED = Stream.of(
                    "src/test/java/dev/verbena/docs", "src/tools", "src/examples", "src/test/engines")
            .map(Path::of)
            .toList();

    /** A call of a script with its arguments. */
    private static final Pattern COMMAND = Pattern.compile("scripts/([a-z-]+)(?![a-z/-])((?:[ =][^ \n|;#`]+)*)");

    /** A member of a class, with arguments or without. */
    private static final Pattern MEMBER = Pattern.compile("([A-Z]\\w*)\\.(?!java$)([a-z]\\w*)(\\(.*)?");

    private static final Map<String, String> HELP = new HashMap<>();

    static List<Chapter> chapters() throws IOException {
        return Chapter.all();
    }

    @Test
    void readmeHasAtMost250Lines() throws Exception {
        assertThat(Files.readAllLines(Chapter.README)).hasSizeLessThanOrEqualTo(250);
    }

    /** The rows of tables and code can't be wrapped. */
    @ParameterizedTest
    @MethodSource("chapters")
    void chaptersAreWrappedAtOneWidth(Chapter chapter) {
        boolean code = false;
        List<String> tooLong = new ArrayList<>();
        for (String line : chapter.text().lines().toList()) {
            code ^= line.startsWith("```");
            if (!code && !line.startsWith("|") && !line.startsWith("!") && line.length() > 125) {
                tooLong.add(line);
            }
        }
        assertThat(tooLong).isEmpty();
    }

    /** An operator looks for an event by its name. */
    @Test
    void chapterOfToolsNamesEachEvent() throws Exception {
        String chapter = Files.readString(Chapter.FOLDER.resolve("tools.md"));
        assertThat(found("src/main/java", "@Name\\(\"(dev\\.verbena\\.\\w+)\"\\)"))
                .allMatch(event -> chapter.contains("`" + event + "`"));
    }

    @Test
    void chaptersOfNodesAndOfSecurityNameEachOptionOfANode() throws Exception {
        String chapters = Files.readString(Chapter.FOLDER.resolve("net.md"))
                + Files.readString(Chapter.FOLDER.resolve("security.md"));
        assertThat(found("src/main/java/dev/verbena/net/NodeOptions.java", "public NodeOptions (\\w+)\\("))
                .allMatch(option -> Pattern.compile("[.`]" + option + "[(`]")
                        .matcher(chapters)
                        .find());
    }

    /** Finds what a pattern has in brackets, in the sources of a folder or file. */
    private static List<String> found(String sources, String pattern) {
        List<String> found = SourceTree.below(Path.of(sources)).texts().values().stream()
                .flatMap(
                        text -> Pattern.compile(pattern).matcher(text).results().map(result -> result.group(1)))
                .distinct()
                .toList();
        assertThat(found).isNotEmpty();
        return found;
    }

    @Test
    void readmeLinksToEachChapter() throws Exception {
        List<Chapter> all = chapters();
        assertThat(all.getFirst().nodes(Link.class).stream()
                        .map(link -> all.getFirst().target(link.getDestination())))
                .containsAll(all.stream().skip(1).map(Chapter::file).toList());
    }

    @ParameterizedTest
    @MethodSource("chapters")
    void linksLeadToFilesAndHeadings(Chapter chapter) throws Exception {
        List<String> broken = new ArrayList<>();
        Stream<String> links = Stream.concat(
                chapter.nodes(Link.class).stream().map(Link::getDestination),
                chapter.nodes(Image.class).stream().map(Image::getDestination));
        for (String link : links.filter(link -> !Chapter.isExternal(link)).toList()) {
            Path file = chapter.target(link);
            String anchor = link.contains("#") ? link.substring(link.indexOf('#') + 1) : "";
            if (!Files.isRegularFile(file) || file.startsWith("target") || file.startsWith("..")) {
                broken.add(link + ": no file of a clone");
            } else if (!anchor.isEmpty()
                    && chapters().stream()
                            .noneMatch(other -> other.file().equals(file)
                                    && other.titles().stream()
                                            .anyMatch(title -> title.anchor().equals(anchor)))) {
                broken.add(link + ": no such heading");
            }
        }
        assertThat(broken).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("chapters")
    void javaCodeIsCompiled(Chapter chapter, @TempDir Path classes) throws Exception {
        String compiled = compiledSources();
        List<String> bad = new ArrayList<>();
        for (String block : Programs.blocks(chapter).toList()) {
            String name = Programs.name(block);
            if (!name.isEmpty()) {
                bad.add(Programs.compile(name, classes));
            } else if (!compiled.contains(unspaced(block))) {
                bad.add("in no compiled file: " + block);
            }
        }
        assertThat(bad).allSatisfy(complaint -> assertThat(complaint).isEmpty());
    }

    /** Chapters that name a method or a field of a class, such as {@code Node.open}, name one that is there. */
    @ParameterizedTest
    @MethodSource("chapters")
    void membersThatChaptersNameExist(Chapter chapter) throws Exception {
        Map<String, Set<String>> members = members();
        List<String> gone = new ArrayList<>();
        for (Code code : chapter.nodes(Code.class)) {
            Matcher member = MEMBER.matcher(code.getLiteral());
            if (member.matches()
                    && members.containsKey(member.group(1))
                    && !isMember(member.group(2), member.group(1), members)) {
                gone.add(code.getLiteral());
            }
        }
        assertThat(gone).isEmpty();
    }

    /** Returns the names of the methods, fields and supertypes of each class of the project, by its simple name. */
    private static Map<String, Set<String>> members() throws IOException {
        Map<String, Set<String>> members = new HashMap<>();
        for (String place : System.getProperty("java.class.path").split(":")) {
            if (Files.isDirectory(Path.of(place))) {
                try (Stream<Path> files = Files.walk(Path.of(place))) {
                    for (Path file : files.filter(path -> path.toString().endsWith(".class"))
                            .toList()) {
                        new ClassReader(Files.readAllBytes(file)).accept(new Names(members), ClassReader.SKIP_CODE);
                    }
                }
            }
        }
        return members;
    }

    private static boolean isMember(String name, String type, Map<String, Set<String>> members) {
        Set<String> names = members.getOrDefault(type, Set.of());
        return names.contains(name) || names.stream().anyMatch(each -> isMember(name, each, members));
    }

    /** Takes the names in a class. */
    private static final class Names extends ClassVisitor {
        private final Map<String, Set<String>> members;
        private Set<String> names;

        Names(Map<String, Set<String>> members) {
            super(Opcodes.ASM9);
            this.members = members;
        }

        private static String simple(String name) {
            return name.replaceFirst(".*[/$]", "");
        }

        @Override
        public void visit(int version, int access, String name, String generic, String above, String[] interfaces) {
            names = members.computeIfAbsent(simple(name), fresh -> new HashSet<>());
            Stream.concat(Stream.ofNullable(above), Stream.of(interfaces))
                    .map(Names::simple)
                    .forEach(names::add);
            names.remove(simple(name)); // a class may extend one of the same simple name
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
            names.add(name);
            return null;
        }

        @Override
        public FieldVisitor visitField(int access, String name, String type, String generic, Object value) {
            names.add(name);
            return null;
        }
    }

    private static String compiledSources() throws IOException {
        StringBuilder text = new StringBuilder();
        for (Path folder : COMPILED) {
            if (Files.exists(folder)) {
                try (Stream<Path> files = Files.walk(folder)) {
                    for (Path file : files.filter(path -> path.toString().endsWith(".java"))
                            .toList()) {
                        text.append(unspaced(Files.readString(file))).append('\0');
                    }
                }
            }
        }
        return text.toString();
    }

    private static String unspaced(String code) {
        return code.replaceAll("\\s+", "");
    }

    @Test
    void firstProgramHasAtMostTwentyLines() throws Exception {
        assertThat(Programs.source(Programs.FIRST)
                        .lines()
                        .filter(line -> !line.isBlank() && !line.startsWith("import"))
                        .count())
                .isLessThanOrEqualTo(20);
    }

    /** Each script exists, and its help names each option that the text shows for it. */
    @ParameterizedTest
    @MethodSource("chapters")
    void commandsAreThoseThatTheHelpNames(Chapter chapter) throws Exception {
        Map<String, String> unknown = new TreeMap<>();
        for (Matcher command = COMMAND.matcher(chapter.text().replace("\\\n", " ")); command.find(); ) {
            assertThat(Path.of("scripts", command.group(1))).isExecutable();
            List<String> words = List.of(command.group(2).strip().split("[ =]+"));
            String help = help(command.group(1), words.getFirst());
            words.stream()
                    .takeWhile(word -> !word.equals("--"))
                    .filter(word -> word.matches("--[a-z][a-z-]*") && !word.equals("--help"))
                    .filter(option -> !Pattern.compile("(?<![\\w-])" + option + "(?![\\w-])")
                            .matcher(help)
                            .find())
                    .forEach(option -> unknown.put(command.group(), option));
        }
        assertThat(unknown).isEmpty();
    }

    /** Returns the help of a script or tool, with that of {@code soft-roce} if the script passes options to it. */
    private static String help(String script, String command) throws IOException {
        if (script.equals("verbena")) {
            return ToolRun.of("--help").out() + ToolRun.of(command, "--help").out();
        }
        if (!HELP.containsKey(script)) {
            String text = output("scripts/" + script, "--help");
            if (script.equals("soft-roce")) {
                text += output("scripts/soft-roce", "pair", "--help");
            } else if (text.contains("OPTION of scripts/soft-roce run")) {
                text += help("soft-roce", "");
            }
            HELP.put(script, text);
        }
        return HELP.get(script);
    }

    private static String output(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    @Test
    void licenceIsInTheJar() throws Exception {
        try (InputStream licence = Rdma.class.getResourceAsStream("/META-INF/LICENSE")) {
            assertThat(licence).isNotNull();
            assertThat(new String(licence.readAllBytes(), StandardCharsets.US_ASCII))
                    .contains("Apache License", "Version 2.0, January 2004");
        }
    }
}
