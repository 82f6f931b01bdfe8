/* elementary.c - exp, log, sine, cosine, arc sine and arc tangent by arithmetic alone.
 *
 * The C library's own choose their way by the processor and differ from system to system in the last bits, and
 * one bit is enough for another rig. Reduction, then a polynomial; methods and coefficients are those of fdlibm:
 *
 *     Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
 *     Developed at SunSoft, a Sun Microsystems, Inc. business.
 *     Permission to use, copy, modify, and distribute this software is freely granted, provided that this
 *     notice is preserved. */
#include "math/elementary.h"

#include <math.h>
#include <stddef.h>

static const double LOG2_HIGH = 6.93147180369123816490e-01; /* its last bits are zero: k LOG2_HIGH is exact */
static const double LOG2_LOW = 1.90821492927058770002e-10;
static const double HALF_PI = 1.57079632679489655800e+00;
static const double HALF_PI_LOW = 6.12323399573676603587e-17;

/* c[0] + c[1] x + ... */
static double polynomial(const double *c, int count, double x) {
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--) {
        sum = sum * x + c[i];
    }
    return sum;
}

#define POLYNOMIAL(c, x) polynomial(c, (int)(sizeof(c) / sizeof *(c)), x)

/* x = k log 2 + r;  exp(r) = 1 + 2 r / (R(r^2) - r), of which R(z) - 2 is z times the polynomial */
double elementary_exp(double x) {
    static const double P[] = {1.66666666666666019037e-01, -2.77777777770155933842e-03,
                               6.61375632143793436117e-05, -1.65339022054652515390e-06,
                               4.13813679705723846039e-08};
    if (!(x < 710)) {
        return x != x ? x : INFINITY;
    }
    if (x < -746) {
        return 0;
    }
    const double k = floor(x * 1.44269504088896338700 + 0.5);
    const double high = x - k * LOG2_HIGH, low = k * LOG2_LOW, r = high - low, square = r * r;
    const double c = r - square * POLYNOMIAL(P, square);
    return ldexp(1 - ((low - r * c / (2 - c)) - high), (int)k);
}

/* x = 2^k (1 + f);  log(1 + f) = 2 s + s R(s^2),  s = f / (2 + f) */
double elementary_log(double x) {
    static const double R[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                               2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                               1.479819860511658591e-01};
    int k;
    if (!(x > 0) || x == INFINITY) {
        return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    }
    double f = frexp(x, &k);
    if (f < 0.70710678118654752440) {
        f *= 2;
        k--;
    }
    f -= 1;
    const double s = f / (2 + f), square = s * s, half = 0.5 * f * f;
    return k * LOG2_HIGH - ((half - (s * (half + square * POLYNOMIAL(R, square)) + k * LOG2_LOW)) - f);
}

double elementary_power(double base, double exponent) {
    return exponent == 0 ? 1 : elementary_exp(exponent * elementary_log(base));
}

/* Of |x| <= pi / 4 and what lies beyond its last bit */
static double sine_near(double x, double low) {
    static const double S[] = {8.33333333332248946124e-03, -1.98412698298579493134e-04,
                               2.75573137070700676789e-06, -2.50507602534068634195e-08,
                               1.58969099521155010221e-10};
    const double square = x * x, cube = square * x;
    return x -
           ((square * (0.5 * low - cube * POLYNOMIAL(S, square)) - low) - cube * -1.66666666666666324348e-01);
}

static double cosine_near(double x, double low) {
    static const double C[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                               2.48015872894767294178e-05, -2.75573143513906633035e-07,
                               2.08757232129817482790e-09, -1.13596475577881948265e-11};
    const double square = x * x, half = 0.5 * square, most = 1 - half;
    return most + (((1 - most) - half) + (square * (square * POLYNOMIAL(C, square)) - x * low));
}

/* angle = k pi / 2 + r, pi / 2 in parts of 33 bits so that k times the first ones is exact */
void elementary_sincos(double angle, double *sine, double *cosine) {
    static const double HALF_PI_FIRST = 1.57079632673412561417e+00,
                        HALF_PI_SECOND = 6.07710050630396597660e-11,
                        HALF_PI_REST = 2.02226624879595063154e-21;
    const double k = floor(angle / HALF_PI + 0.5), left = angle - k * HALF_PI_FIRST, way = k * HALF_PI_SECOND;
    const double near = left - way, low = ((left - near) - way) - k * HALF_PI_REST;
    const double r = near + low, beyond = (near - r) + low;
    const double s = sine_near(r, beyond), c = cosine_near(r, beyond);
    const double quarter = k - 4 * floor(k / 4);
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

/* asin(x) = x + x R(x^2) up to 1/2, beyond pi / 2 - 2 asin(sqrt((1 - x) / 2)) */
double elementary_asin(double x) {
    static const double P[] = {1.66666666666666657415e-01, -3.25565818622400915405e-01,
                               2.01212532134862925881e-01, -4.00555345006794114027e-02,
                               7.91534994289814532176e-04, 3.47933107596021167570e-05};
    static const double Q[] = {1, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
                               -6.88283971605453293030e-01, 7.70381505559019352791e-02};
    const double size = fabs(x);
    if (size < 0.5) {
        const double square = x * x;
        return x + x * (square * POLYNOMIAL(P, square) / POLYNOMIAL(Q, square));
    }
    const double square = 0.5 * (1 - size), s = sqrt(square);
    const double near = s + s * (square * POLYNOMIAL(P, square) / POLYNOMIAL(Q, square));
    const double answer = HALF_PI - (2 * near - HALF_PI_LOW);
    return x < 0 ? -answer : answer;
}

/* Of 0..infinity: atan(x) = atan(m) + atan((x - m) / (1 + m x)) about m = 0, 1/2, 1, 3/2, infinity */
static double arc_tangent(double x) {
    static const double ODD[] = {3.33333333333329318027e-01, 1.42857142725034663711e-01,
                                 9.09088713343650656196e-02, 6.66107313738753120669e-02,
                                 4.97687799461593236017e-02, 1.62858201153657823623e-02};
    static const double EVEN[] = {-1.99999999998764832476e-01, -1.11111104054623557880e-01,
                                  -7.69187620504482999495e-02, -5.83357013379057348645e-02,
                                  -3.65315727442169155270e-02};
    static const double HIGH[] = {0, 4.63647609000806093515e-01, 7.85398163397448278999e-01,
                                  9.82793723247329054082e-01, 1.57079632679489655800e+00};
    static const double LOW[] = {0, 2.26987774529616870924e-17, 3.06161699786838301793e-17,
                                 1.39033110312309984516e-17, 6.12323399573676603587e-17};
    const int about = x < 0.4375 ? 0 : x < 0.6875 ? 1 : x < 1.1875 ? 2 : x < 2.4375 ? 3 : 4;
    const double m = 0.5 * about, t = about == 0 ? x : about == 4 ? -1 / x : (x - m) / (1 + m * x);
    const double square = t * t, fourth = square * square;
    const double bent = square * POLYNOMIAL(ODD, fourth) + fourth * POLYNOMIAL(EVEN, fourth);
    return HIGH[about] - ((t * bent - LOW[about]) - t);
}

double elementary_atan2(double y, double x) {
    const double high = fabs(y), wide = fabs(x);
    if (high == 0 && wide == 0) {
        return signbit(x) ? copysign(2 * HALF_PI, y) : y;
    }
    const double first = wide == 0 ? HALF_PI : arc_tangent(high / wide);
    const double angle = signbit(x) ? 2 * HALF_PI - (first - 2 * HALF_PI_LOW) : first;
    return copysign(angle, y);
}
