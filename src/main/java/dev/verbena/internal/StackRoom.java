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
        largeFrame(true);
    }

    /**
     * Checks the same, and returns the argument. If it is false, this takes only a branch, which the caller needs anyway: a poll of
     * 5 ns took 0.5 ns more with a load and a branch of their own (row "empty poll" with a shared arena, 2026-11-28).
     *
     * @throws StackOverflowError if the thread has no room
     */
    public static boolean forExit(boolean rare) {
        return largeFrame(rare);
    }

    /**
     * Checks that the calling thread has room to work for a node: to handle a message, or to use a socket. This takes a load and
     * a branch. To take as many frames instead took 0.2 us of the 0.25 us of a read, and 0.4 us of a message there and back.
     *
     * @throws StackOverflowError if it has not
     */
    public static void forWork() {
        deepFrame(zero);
    }

    /**
     * Has a frame of more than a page, for variables that nothing uses. Compiled code has no such frame. But at its entry, it
     * checks that the interpreter could go on where it can't: in the branch here, with this frame.
     */
    @SuppressWarnings("UnusedVariable")
    private static boolean largeFrame(boolean rare) {
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
        if (rare && zero != 0) {
            throw new AssertionError();
        }
        return rare;
    }

    /** Has a frame of 14 KiB, in the same way. */
    @SuppressWarnings("UnusedVariable")
    private static long deepFrame(int never) {
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
        long la, lb, lc, ld, le, lf, lg, lh, li, lj, lk, ll, lm, ln, lo, lp, lq, lr, ls, lt, lu, lv, lw, lx;
        long ma, mb, mc, md, me, mf, mg, mh, mi, mj, mk, ml, mm, mn, mo, mp, mq, mr, ms, mt, mu, mv, mw, mx;
        long na, nb, nc, nd, ne, nf, ng, nh, ni, nj, nk, nl, nm, nn, no, np, nq, nr, ns, nt, nu, nv, nw, nx;
        long oa, ob, oc, od, oe, of, og, oh, oi, oj, ok, ol, om, on, oo, op, oq, or, os, ot, ou, ov, ow, ox;
        long pa, pb, pc, pd, pe, pf, pg, ph, pi, pj, pk, pl, pm, pn, po, pp, pq, pr, ps, pt, pu, pv, pw, px;
        long qa, qb, qc, qd, qe, qf, qg, qh, qi, qj, qk, ql, qm, qn, qo, qp, qq, qr, qs, qt, qu, qv, qw, qx;
        long ra, rb, rc, rd, re, rf, rg, rh, ri, rj, rk, rl, rm, rn, ro, rp, rq, rr, rs, rt, ru, rv, rw, rx;
        long sa, sb, sc, sd, se, sf, sg, sh, si, sj, sk, sl, sm, sn, so, sp, sq, sr, ss, st, su, sv, sw, sx;
        long ta, tb, tc, td, te, tf, tg, th, ti, tj, tk, tl, tm, tn, to, tp, tq, tr, ts, tt, tu, tv, tw, tx;
        long ua, ub, uc, ud, ue, uf, ug, uh, ui, uj, uk, ul, um, un, uo, up, uq, ur, us, ut, uu, uv, uw, ux;
        long va, vb, vc, vd, ve, vf, vg, vh, vi, vj, vk, vl, vm, vn, vo, vp, vq, vr, vs, vt, vu, vv, vw, vx;
        long wa, wb, wc, wd, we, wf, wg, wh, wi, wj, wk, wl, wm, wn, wo, wp, wq, wr, ws, wt, wu, wv, ww, wx;
        long xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, xl, xm, xn, xo, xp, xq, xr, xs, xt, xu, xv, xw, xx;
        long ya, yb, yc, yd, ye, yf, yg, yh, yi, yj, yk, yl, ym, yn, yo, yp, yq, yr, ys, yt, yu, yv, yw, yx;
        long za, zb, zc, zd, ze, zf, zg, zh, zi, zj, zk, zl, zm, zn, zo, zp, zq, zr, zs, zt, zu, zv, zw, zx;
        long aA, aB, aC, aD, aE, aF, aG, aH, aI, aJ, aK, aL, aM, aN, aO, aP, aQ, aR, aS, aT, aU, aV, aW, aX;
        long bA, bB, bC, bD, bE, bF, bG, bH, bI, bJ, bK, bL, bM, bN, bO, bP, bQ, bR, bS, bT, bU, bV, bW, bX;
        long cA, cB, cC, cD, cE, cF, cG, cH, cI, cJ, cK, cL, cM, cN, cO, cP, cQ, cR, cS, cT, cU, cV, cW, cX;
        long dA, dB, dC, dD, dE, dF, dG, dH, dI, dJ, dK, dL, dM, dN, dO, dP, dQ, dR, dS, dT, dU, dV, dW, dX;
        long eA, eB, eC, eD, eE, eF, eG, eH, eI, eJ, eK, eL, eM, eN, eO, eP, eQ, eR, eS, eT, eU, eV, eW, eX;
        long fA, fB, fC, fD, fE, fF, fG, fH, fI, fJ, fK, fL, fM, fN, fO, fP, fQ, fR, fS, fT, fU, fV, fW, fX;
        long gA, gB, gC, gD, gE, gF, gG, gH, gI, gJ, gK, gL, gM, gN, gO, gP, gQ, gR, gS, gT, gU, gV, gW, gX;
        long hA, hB, hC, hD, hE, hF, hG, hH, hI, hJ, hK, hL, hM, hN, hO, hP, hQ, hR, hS, hT, hU, hV, hW, hX;
        long iA, iB, iC, iD, iE, iF, iG, iH, iI, iJ, iK, iL, iM, iN, iO, iP, iQ, iR, iS, iT, iU, iV, iW, iX;
        long jA, jB, jC, jD, jE, jF, jG, jH, jI, jJ, jK, jL, jM, jN, jO, jP, jQ, jR, jS, jT, jU, jV, jW, jX;
        long kA, kB, kC, kD, kE, kF, kG, kH, kI, kJ, kK, kL, kM, kN, kO, kP, kQ, kR, kS, kT, kU, kV, kW, kX;
        long lA, lB, lC, lD, lE, lF, lG, lH, lI, lJ, lK, lL, lM, lN, lO, lP, lQ, lR, lS, lT, lU, lV, lW, lX;
        if (never != 0) {
            throw new AssertionError();
        }
        return 1;
    }

    private static long end() {
        return largeFrame(true) ? 1 : 0;
    }

    /** Takes a number of frames. Uses the parameters late, so that each frame has them. */
    private static long take(int frames, long a, long b, long c, long d, long e, long f, long g, long h) {
        long deeper = frames == 0 ? end() : take(frames - 1, b, c, d, e, f, g, h, a);
        return deeper | a | b | c | d | e | f | g | h;
    }
}
