package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Guests that go on from one that was saved. The stub of QEMU plays its part and the guest's: it boots and says so, saves when its
 * monitor is told to, and goes on when told to, with the word that comes.
 */
class SavedGuestTest extends StubbedScripts {
    @BeforeEach
    void qemuSaves() throws IOException {
        stubQemu("""
                for word; do
                    value=${word#*path=}
                    case $word in
                        local,*,mount_tag=run,*) share=${value%%,*} ;;
                        file,*,id=out) out=${value%%,*} ;;
                        file,*,id=err) err=${value%%,*} ;;
                        pipe,*,id=word) port=${value%%,*} ;;
                        pipe,id=monitor,*) monitor=${value%%,*} ;;
                        memory-backend-file,*) memory=${value%%,*} ;;
                    esac
                done
                if [[ $* == *-incoming* ]]; then
                    [[ -e $memory ]] || { echo 'no memory' >&2; exit 1; }
                    while read -r line && [[ $line != migrate_incoming* ]]; do :; done < "$monitor.in"
                    read -r word < "$port.in"
                elif [[ -n $monitor ]]; then
                    word=save
                else
                    word=boot
                fi
                echo "$word" >> "$CALLS"
                case $word in
                    save)
                        if [[ -e $HOME/cannot ]]; then exit 1; fi
                        touch "$memory"
                        echo ready > "$port.out"
                        while read -r line && [[ $line != quit ]]; do
                            if [[ $line == "migrate "* ]]; then echo state > "$SAVED_STATE"; fi
                        done < "$monitor.in"
                        ;;
                    check) if [[ ! -e $HOME/fails ]]; then echo works > "$port.out"; fi ;;
                    *)
                        touch "$share/started"
                        sh "$share/command" > "$out" 2> "$err"
                        echo $? > "$share/status"
                        ;;
                esac
                """, ". \"$LIB/saved.sh\"");
    }

    private void runs(String output) throws Exception {
        assertThat(run("scripts/soft-roce", "run", "--guest", "echo", "hello")).isEqualTo(new Ended(0, output));
    }

    private List<Path> saved() throws IOException {
        try (Stream<Path> folders = Files.list(folder.resolve("cache/saved"))) {
            return folders.toList();
        }
    }

    @Test
    void guestIsSavedOnceAndOthersGoOn() throws Exception {
        runs("hello\n");
        runs("hello\n");
        assertThat(calls()).isEqualTo("save\ncheck\ngo\ngo\n");
        assertThat(saved()).hasSize(1);
        assertThat(saved().getFirst()).isDirectoryContaining("glob:**state");
    }

    /** A saved guest is of no use for another amount of memory. */
    @Test
    void anotherGuestIsSavedForOtherOptions() throws Exception {
        runs("hello\n");
        Ended other = run("scripts/soft-roce", "run", "--guest", "--memory", "1024", "echo", "hello");
        assertThat(other).isEqualTo(new Ended(0, "hello\n"));
        assertThat(calls()).isEqualTo("save\ncheck\ngo\nsave\ncheck\ngo\n");
    }

    /** A guest that can't be saved, or doesn't go on. */
    @ParameterizedTest
    @ValueSource(strings = {"cannot", "fails"})
    void guestBootsIfNoneCouldBeSaved(String why) throws Exception {
        write(folder.resolve(why), "");
        runs("soft-roce: the guest boots, because none could be saved that has booted\nhello\n");
        assertThat(calls()).endsWith("boot\n");
        assertThat(saved()).isEmpty();
    }

    @Test
    void savedGuestThatIsOfNoUseIsRemoved() throws Exception {
        runs("hello\n");
        Files.delete(saved().getFirst().resolve("memory"));
        Ended run = run("scripts/soft-roce", "run", "--guest", "echo", "hello");
        assertThat(run.status()).as(run.output()).isEqualTo(125);
        assertThat(saved()).isEmpty();
        runs("hello\n");
    }
}
