/* elementary.h - functions of the C library that are not the same everywhere: to within two units in the last
 * place, and the same bits on every processor and system. */
#ifndef OSSIFY_ELEMENTARY_H
#define OSSIFY_ELEMENTARY_H

double elementary_exp(double x);
/* Of a positive number; -infinity at 0. */
double elementary_log(double x);
/* base^exponent of a base that is not negative; 0^0 = 1 */
double elementary_power(double base, double exponent);
/* Of an angle up to a few thousand turns: farther away it is less exact. */
void elementary_sincos(double angle, double *sine, double *cosine);
/* Of -1..1 */
double elementary_asin(double x);
double elementary_atan2(double y, double x);

#endif
