package dev.verbena.bench;

/**
 * The work of a row that a program repeats: posts one request or one batch, and polls its completions. A step is a class of
 * its own and no lambda, which would be one frame more.
 */
interface Step {
    /**
     * Runs once.
     *
     * @param id the id of the first request
     * @return the number of wrong completions
     */
    long once(long id);
}
