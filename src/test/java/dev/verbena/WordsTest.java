package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.doctree.DocCommentTree;
import com.sun.source.doctree.DocTree;
import com.sun.source.doctree.ReturnTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.ModuleTree;
import com.sun.source.tree.PackageTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.TreePathScanner;
import dev.verbena.support.SourceTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.lang.model.element.Modifier;
import org.junit.jupiter.api.Test;

/**
 * The first sentences of the Javadoc. A sentence does not open with a question word in place of a noun; a method's
 * begins with a verb, such as "Returns". Counted are the public and protected declarations of the library, and all of
 * the tools. Each run writes the offenders to {@code target/words.txt}, those that are not counted too.
 */
class WordsTest {
    private static final Path SOURCES = Path.of("src/main/java");
    private static final Path TOOLS = Path.of("src/tools/java");
    private static final Path REPORT = Path.of("target/words.txt");

    /** The highest shares of offenders, in percent. Each is to fall below 2 when all words are done. */
    private static final double QUESTION_LIMIT = 2;

    private static final double QUESTION_LIMIT_OF_CONSTANTS = 2;
    private static final double NO_VERB_LIMIT = 2;

    private static final Set<String> QUESTION_WORDS = words("""
            what whatever where wherever how who whoever whom whose whether which whichever when whenever
            why
            """);

    /** Words with a final "s" that are no verbs, and nouns in the plural. Words such as "names" can be either. */
    private static final Set<String> NOT_VERBS = words("""
            addresses always atomics attributes batches buffers bytes completions connections contents
            counters datagrams devices drivers events flags is its less messages objects operations options
            packets pages peers ports sometimes structs this threads values verbs was
            """);

    private static final Pattern FIRST_WORD = Pattern.compile("[\\p{L}\\p{N}]+");

    private static Set<String> words(String list) {
        return Set.of(list.split("\\s+"));
    }

    private enum Kind {
        TYPE,
        METHOD,
        CONSTANT
    }

    /** The first sentence of a declaration's Javadoc. */
    private record Sentence(String place, Kind kind, String name, boolean counted, String text) {
        private String firstWord() {
            Matcher word = FIRST_WORD.matcher(text);
            return word.find() ? word.group().toLowerCase(Locale.ROOT) : "";
        }

        boolean beginsWithQuestion() {
            return QUESTION_WORDS.contains(firstWord());
        }

        boolean beginsWithoutVerb() {
            String word = firstWord();
            return kind == Kind.METHOD && (!word.endsWith("s") || NOT_VERBS.contains(word));
        }

        @Override
        public String toString() {
            return "%-8s %s %s: %s".formatted(kind.name().toLowerCase(Locale.ROOT), place, name, text);
        }
    }

    private static List<Sentence> sentences(SourceTree sources) {
        List<Sentence> found = new ArrayList<>();
        sources.parse((trees, unit) -> new Reader(trees, unit, found).scan(unit, null));
        return found;
    }

    /** Collects the first sentences of one source. */
    private static final class Reader extends TreePathScanner<Void, Void> {
        private final DocTrees trees;
        private final CompilationUnitTree unit;
        private final List<Sentence> found;
        private final String path;
        private boolean counted;
        private boolean inInterface;

        Reader(DocTrees trees, CompilationUnitTree unit, List<Sentence> found) {
            this.trees = trees;
            this.unit = unit;
            this.found = found;
            path = SourceTree.pathOf(unit);
            String name =
                    unit.getPackageName() == null ? "" : unit.getPackageName().toString();
            counted = isTool() || !name.contains(".internal") && !name.endsWith(".access");
        }

        private boolean isTool() {
            return path.startsWith(TOOLS.toString());
        }

        @Override
        public Void visitModule(ModuleTree tree, Void nothing) {
            add(tree, Kind.TYPE, tree.getName().toString(), counted);
            return null;
        }

        @Override
        public Void visitPackage(PackageTree tree, Void nothing) {
            add(tree, Kind.TYPE, tree.getPackageName().toString(), counted);
            return null;
        }

        @Override
        public Void visitClass(ClassTree tree, Void nothing) {
            boolean outer = counted;
            boolean outerIsInterface = inInterface;
            counted &= isVisible(tree.getModifiers());
            inInterface = tree.getKind() == Tree.Kind.INTERFACE || tree.getKind() == Tree.Kind.ANNOTATION_TYPE;
            add(tree, Kind.TYPE, tree.getSimpleName().toString(), counted);
            super.visitClass(tree, null);
            counted = outer;
            inInterface = outerIsInterface;
            return null;
        }

        @Override
        public Void visitMethod(MethodTree tree, Void nothing) {
            add(tree, Kind.METHOD, tree.getName().toString(), counted && isVisible(tree.getModifiers()));
            return null;
        }

        @Override
        public Void visitVariable(VariableTree tree, Void nothing) {
            add(tree, Kind.CONSTANT, tree.getName().toString(), counted && isVisible(tree.getModifiers()));
            return null;
        }

        private boolean isVisible(ModifiersTree modifiers) {
            Set<Modifier> flags = modifiers.getFlags();
            return isTool() || inInterface || flags.contains(Modifier.PUBLIC) || flags.contains(Modifier.PROTECTED);
        }

        private void add(Tree tree, Kind kind, String name, boolean visible) {
            DocCommentTree comment = trees.getDocCommentTree(getCurrentPath());
            if (comment == null || comment.getFirstSentence().isEmpty()) {
                return;
            }
            long line =
                    unit.getLineMap().getLineNumber(trees.getSourcePositions().getStartPosition(unit, tree));
            String text = comment.getFirstSentence().get(0) instanceof ReturnTree returned
                    ? "Returns " + joined(returned.getDescription())
                    : joined(comment.getFirstSentence());
            found.add(new Sentence(path + ":" + line, kind, name, visible, text));
        }

        private static String joined(List<? extends DocTree> parts) {
            return parts.stream()
                    .map(DocTree::toString)
                    .collect(Collectors.joining())
                    .replaceAll("\\s+", " ");
        }
    }

    private static double share(List<Sentence> sentences, Predicate<Sentence> offends) {
        return 100.0 * sentences.stream().filter(offends).count() / Math.max(1, sentences.size());
    }

    private static List<Sentence> counted(Kind... kinds) {
        return sentences(SourceTree.below(SOURCES, TOOLS)).stream()
                .filter(sentence -> sentence.counted() && List.of(kinds).contains(sentence.kind()))
                .toList();
    }

    private static void assertShareBelow(double limit, List<Sentence> sentences, Predicate<Sentence> offends) {
        double share = share(sentences, offends);
        assertThat(share)
                .as(
                        "percent of %d first sentences (all of them in %s):%n%s",
                        sentences.size(),
                        REPORT,
                        sentences.stream()
                                .filter(offends)
                                .map(Sentence::toString)
                                .limit(20)
                                .collect(Collectors.joining("\n")))
                .isLessThan(limit);
    }

    @Test
    void firstSentencesDoNotBeginWithQuestionWords() {
        assertShareBelow(QUESTION_LIMIT, counted(Kind.TYPE, Kind.METHOD), Sentence::beginsWithQuestion);
    }

    @Test
    void constantSentencesDoNotBeginWithQuestionWords() {
        assertShareBelow(QUESTION_LIMIT_OF_CONSTANTS, counted(Kind.CONSTANT), Sentence::beginsWithQuestion);
    }

    @Test
    void methodSentencesBeginWithVerbs() {
        assertShareBelow(NO_VERB_LIMIT, counted(Kind.METHOD), Sentence::beginsWithoutVerb);
    }

    @Test
    void reportListsAllOffenders() throws IOException {
        List<Sentence> all = sentences(SourceTree.below(SOURCES, TOOLS));
        List<String> lines = new ArrayList<>();
        for (boolean counted : new boolean[] {true, false}) {
            List<Sentence> part = all.stream()
                    .filter(sentence -> sentence.counted() == counted)
                    .toList();
            List<Sentence> methods = part.stream()
                    .filter(sentence -> sentence.kind() == Kind.METHOD)
                    .toList();
            lines.add("# %s: %d first sentences, %.1f%% begin with a question word; of %d methods %.1f%% without a verb"
                    .formatted(
                            counted ? "counted" : "not counted (not public)",
                            part.size(),
                            share(part, Sentence::beginsWithQuestion),
                            methods.size(),
                            share(methods, Sentence::beginsWithoutVerb)));
            part.stream()
                    .filter(sentence -> sentence.beginsWithQuestion() || sentence.beginsWithoutVerb())
                    .forEach(sentence -> lines.add(sentence.toString()));
        }
        Files.createDirectories(REPORT.getParent());
        Files.write(REPORT, lines);
        assertThat(all)
                .as("first sentences, which shows that they are found at all")
                .hasSizeGreaterThan(1_000);
    }

    @Test
    void rulesReportOffendersInASample() {
        List<Sentence> sample = sentences(SourceTree.of("src/main/java/dev/verbena/Sample.java", """
                package dev.verbena;
                /** What this is. */
                public class Sample {
                    /** Where it stands. */
                    public static final int PLACE = 1;
                    /** How many there are. */
                    public int count() { return 1; }
                    /** Returns the name. How it is made is another sentence. */
                    public String name() { return ""; }
                    /** {@return the size} */
                    public int size() { return 1; }
                    /** The weight. */
                    protected int weight() { return 1; }
                    /** This closes it. */
                    public void close() { }
                    /** {@code close()}, later. */
                    void later() { }
                    /** A face. */
                    public interface Face { /** Who looks. */ int eyes(); }
                    /** Hidden. */
                    static class Hidden { /** Whose it is. */ public int owner() { return 1; } }
                }
                """));
        assertThat(names(sample, Sentence::beginsWithQuestion))
                .containsExactly("Sample", "PLACE", "count", "eyes", "owner");
        assertThat(names(sample, Sentence::beginsWithoutVerb))
                .containsExactly("count", "weight", "close", "later", "eyes", "owner");
        assertThat(names(sample, sentence -> !sentence.counted())).containsExactly("later", "Hidden", "owner");
        assertThat(share(sample, Sentence::beginsWithQuestion)).isEqualTo(100.0 * 5 / 12);
    }

    private static List<String> names(List<Sentence> sentences, Predicate<Sentence> chosen) {
        return sentences.stream().filter(chosen).map(Sentence::name).toList();
    }
}
