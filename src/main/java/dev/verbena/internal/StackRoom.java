package dev.verbena.internal;

/**
 * Makes sure that a thread has room on its stack for what must not fail halfway. A thread that parks without room may never
 * come back: the JDK's conditions try again and again to take their lock.
 *
 * <p>HotSpot moves the end of a stack while it handles an overflow, by 12 KiB. The frames of {@link #check} take more than that,
 * and than what follows.
 */
public final class StackRoom {
    private static final int FRAMES = 200;
    private static final int FRAMES_FOR_LINKING = 800;

    /** Always 0, which the compilers do not know. */
    private static int zero;

    private StackRoom() {}

    /**
     * Checks that the calling thread has room for what parks or wakes. This takes 0.7 us.
     *
     * @throws StackOverflowError if it has not
     */
    public static void check() {
        check(FRAMES);
    }

    /**
     * Checks that the calling thread has room for the JDK to link lambdas. A lambda that was not linked at its first use for lack
     * of stack fails at each later use. This takes 3 us; where that is too long, a class takes the place of the lambda.
     *
     * @throws StackOverflowError if it has not
     */
    public static void forLinking() {
        check(FRAMES_FOR_LINKING);
    }

    /**
     * Checks that the calling thread has room for a number of frames of 80 bytes.
     *
     * @throws StackOverflowError if it has not
     */
    public static void check(int frames) {
        if (take(frames, 1, 2, 3, 4, 5, 6, 7, 8) == 0) {
            throw new AssertionError(); // or the compilers would leave out the call
        }
    }

    /**
     * Checks that the calling thread has room for the methods that give a lock back, or leave a guard: they are called later,
     * from the same depth. This takes a load and a branch.
     *
     * @throws StackOverflowError if it has not
     */
    public static void forExit() {
        largeFrame(zero);
    }

    /**
     * Has a frame of more than a page, for variables that nothing uses. Compiled code has no such frame. But at its entry, it
     * checks that the interpreter could go on where it can't: in the branch here, with this frame.
     */
    @SuppressWarnings("UnusedVariable")
    private static long largeFrame(int never) {
        long aa, ab, ac, ad, ae, af, ag, ah, ai, aj, ak, al, am, an, ao, ap, aq, ar, as, at, au, av, aw, ax;
        long ba, bb, bc, bd, be, bf, bg, bh, bi, bj, bk, bl, bm, bn, bo, bp, bq, br, bs, bt, bu, bv, bw, bx;
        long ca, cb, cc, cd, ce, cf, cg, ch, ci, cj, ck, cl, cm, cn, co, cp, cq, cr, cs, ct, cu, cv, cw, cx;
        long da, db, dc, dd, de, df, dg, dh, di, dj, dk, dl, dm, dn, dz, dp, dq, dr, ds, dt, du, dv, dw, dx;
        long ea, eb, ec, ed, ee, ef, eg, eh, ei, ej, ek, el, em, en, eo, ep, eq, er, es, et, eu, ev, ew, ex;
        long fa, fb, fc, fd, fe, ff, fg, fh, fi, fj, fk, fl, fm, fn, fo, fp, fq, fr, fs, ft, fu, fv, fw, fx;
        long ga, gb, gc, gd, ge, gf, gg, gh, gi, gj, gk, gl, gm, gn, go, gp, gq, gr, gs, gt, gu, gv, gw, gx;
        long ha, hb, hc, hd, he, hf, hg, hh, hi, hj, hk, hl, hm, hn, ho, hp, hq, hr, hs, ht, hu, hv, hw, hx;
        long ia, ib, ic, id, ie, iz, ig, ih, ii, ij, ik, il, im, in, io, ip, iq, ir, is, it, iu, iv, iw, ix;
        long ja, jb, jc, jd, je, jf, jg, jh, ji, jj, jk, jl, jm, jn, jo, jp, jq, jr, js, jt, ju, jv, jw, jx;
        long ka, kb, kc, kd, ke, kf, kg, kh, ki, kj, kk, kl, km, kn, ko, kp, kq, kr, ks, kt, ku, kv, kw, kx;
        if (never != 0) {
            throw new AssertionError();
        }
        return 1;
    }

    /** Takes a number of frames. Uses the parameters late, so that each frame has them. */
    private static long take(int frames, long a, long b, long c, long d, long e, long f, long g, long h) {
        long deeper = frames == 0 ? largeFrame(zero) : take(frames - 1, b, c, d, e, f, g, h, a);
        return deeper | a | b | c | d | e | f | g | h;
    }
}
