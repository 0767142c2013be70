package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the site of the documentation: Javadoc, links, pictures, the search index, and the pages in a browser. */
class SiteTest {
    private static final Pattern LINK = Pattern.compile("(?:href|src|\"u\")[=:]\"([^\"]*)\"");
    private static final Pattern ANCHOR = Pattern.compile(" id=\"([^\"]*)\"");

    @TempDir
    static Path folder;

    private static String complaints = "not built";

    @BeforeAll
    static void build() throws IOException {
        complaints = Site.build(folder);
    }

    @Test
    void javadocHasNoWarnings() {
        assertThat(complaints).isEmpty();
    }

    /** Javadoc shows what an exported class inherits from one that is not exported as the class's own. */
    @Test
    void optionsShowNoProtectedMembers() throws IOException {
        List<Path> pages = files("Options.html");
        assertThat(pages).hasSizeGreaterThan(5);
        for (Path page : pages) {
            assertThat(Files.readString(page)).as(page.toString()).doesNotContainPattern(">protected[ <]");
        }
    }

    @Test
    void frontPageIsTheReadme() throws IOException {
        assertThat(Files.readString(folder.resolve("index.html"))).contains("<h1 id=\"verbena\">Verbena</h1>");
        assertThat(Files.readString(folder.resolve(Site.OVERVIEW)))
                .contains("href=\"guide.html\"")
                .doesNotContain("{@");
    }

    @Test
    void linksLeadToPagesAndAnchors() throws IOException {
        Map<Path, Set<String>> anchors = new HashMap<>();
        Map<Path, Set<String>> links = new HashMap<>();
        for (Path page : files(".html")) {
            String text = Files.readString(page);
            anchors.put(page, new HashSet<>(matches(ANCHOR, text)));
            links.put(page, new TreeSet<>(matches(LINK, text)));
        }
        Path index = folder.resolve("tag-search-index.js");
        links.put(index, new TreeSet<>(matches(LINK, Files.readString(index))));
        List<String> broken = new ArrayList<>();
        links.forEach((page, addresses) -> {
            for (String link : addresses) {
                String[] parts = URLDecoder.decode(link.replace("+", "%2B"), StandardCharsets.UTF_8)
                        .split("#", 2);
                Path file = parts[0].isEmpty()
                        ? page
                        : page.resolveSibling(parts[0]).normalize();
                boolean isFound = Chapter.isExternal(link)
                        || Files.isRegularFile(file)
                                && (parts.length == 1
                                        || parts[1].isEmpty()
                                        || anchors.getOrDefault(file, Set.of()).contains(parts[1]));
                if (!isFound) {
                    broken.add(folder.relativize(page) + ": " + link);
                }
            }
        });
        assertThat(broken).isEmpty();
    }

    /** The names of C functions come first, in order: others that build a release get the same file. */
    @Test
    void searchIndexHasOneOrder() throws IOException {
        String index = Files.readString(folder.resolve("tag-search-index.js"));
        String names = index.substring(index.indexOf('[') + 1, index.indexOf("{\"l\":\"Verbena\""));
        List<String> entries = matches(Pattern.compile("(\\{[^}]*})"), names);
        assertThat(entries).hasSizeGreaterThan(100).isSorted();
    }

    /** The search finds each C function whose name an annotation has. */
    @Test
    void searchIndexHasTheNamesOfCFunctions() throws IOException {
        Set<String> names = new TreeSet<>();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                for (String list : matches(Pattern.compile("@CName\\(([^)]*)\\)"), Files.readString(file))) {
                    names.addAll(matches(Pattern.compile("\"(\\w+)\""), list));
                }
            }
        }
        String index = Files.readString(folder.resolve("tag-search-index.js"));
        assertThat(matches(Pattern.compile("\"l\":\"([^\"]*)\""), index)).containsAll(names);
        assertThat(index)
                .contains("{\"l\":\"ibv_reg_mr\",\"h\":\"ProtectionDomain.register(MemorySegment, AccessFlag[])\"");
    }

    /** Opens all pages in Chromium, if there is one. {@link Browser} says what must hold. */
    @Test
    void pagesFitTheScreensOfABrowser(@TempDir Path profile) throws Exception {
        assumeThat(Browser.program())
                .as("a program " + Browser.PROGRAMS + " on PATH")
                .isPresent();
        List<String> pages = files(".html").stream()
                .map(page -> folder.relativize(page).toString())
                .toList();
        assertThat(Browser.findings(folder, pages, profile)).isEmpty();
    }

    private static List<Path> files(String end) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(path -> path.toString().endsWith(end)).sorted().toList();
        }
    }

    private static List<String> matches(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map(match ->
                        match.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
                .toList();
    }
}
