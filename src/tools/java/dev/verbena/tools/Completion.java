package dev.verbena.tools;

import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import java.io.PrintStream;

/** Prints the bash completion script of {@code verbena}. */
final class Completion {
    private static final String USAGE = """
            usage: verbena completion [bash]

            Prints the bash completion script. To load it in this shell:
              source <(verbena completion)""";

    private Completion() {}

    static int run(String[] args, PrintStream out) {
        Options options = Options.parse(args, USAGE, 1);
        String shell = options.operand(0);
        options.check(shell.isEmpty() || shell.equals("bash"), "unknown shell '" + shell + "': only bash is supported");
        out.print(script());
        return Tool.OK;
    }

    private static String script() {
        StringBuilder cases = new StringBuilder();
        StringBuilder names = new StringBuilder();
        for (Tool tool : Main.PROGRAM.tools()) {
            names.append(tool.name()).append(' ');
            String words = tool.name().equals("completion") ? "bash --help" : String.join(" ", tool.options());
            cases.append("        ")
                    .append(tool.name())
                    .append(") words='")
                    .append(words)
                    .append("' ;;\n");
        }
        return """
                # bash completion for verbena: source <(verbena completion)
                _verbena() {
                    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
                    case $before in
                        -d | --ib-dev)
                            words=$(ls /sys/class/infiniband 2> /dev/null)
                            COMPREPLY=($(compgen -W "$words" -- "$word"))
                            return
                            ;;
                        --html | --since)
                            COMPREPLY=($(compgen -f -- "$word"))
                            return
                            ;;
                    esac
                    if ((COMP_CWORD == 1)); then
                        COMPREPLY=($(compgen -W '%shelp --help --version' -- "$word"))
                        return
                    fi
                    case ${COMP_WORDS[1]} in
                        help) words='%s' ;;
                %s    esac
                    COMPREPLY=($(compgen -W "$words" -- "$word"))
                }
                complete -F _verbena verbena
                """.formatted(names, names.toString().strip(), cases);
    }
}
