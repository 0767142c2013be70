package dev.verbena.docs;

import com.sun.source.doctree.DocTree;
import com.sun.source.doctree.UnknownInlineTagTree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import javax.lang.model.element.Element;
import jdk.javadoc.doclet.Taglet;

/**
 * A tag for javadoc, <code>{&#64;picture FILE}</code>: puts an SVG file of {@code src/main/javadoc} into the page. Javadoc
 * does not know the elements of SVG, and a picture in a file of its own could not take the colours of the page.
 */
public final class PictureTaglet implements Taglet {
    /** Creates a taglet. */
    public PictureTaglet() {}

    @Override
    public String getName() {
        return "picture";
    }

    @Override
    public boolean isInlineTag() {
        return true;
    }

    @Override
    public Set<Location> getAllowedLocations() {
        return EnumSet.allOf(Location.class);
    }

    @Override
    public String toString(List<? extends DocTree> tags, Element element) {
        String name =
                ((UnknownInlineTagTree) tags.getFirst()).getContent().getFirst().toString();
        try {
            return Files.readString(Path.of("src/main/javadoc", name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
