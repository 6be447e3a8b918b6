"""What a blanket of random reports hides: (ε, δ) against a collector that may send every other report itself.

A shuffler draws `blanket` reports from a law B that no device influences and mixes them with those of devices. For two
values x and x′ let L = (K_x(y) − e^ε K_x′(y))/B(y) with y ~ B. Then, whatever all other devices send,

    δ(ε) = E[(L₀ + … + L_m)₊]/(m + 1),  m = `blanket`,  L_i independent copies of L

(Balle, Bell, Gascón and Nissim 2019, "The privacy blanket of the shuffle model", Lemma 5.3, with B in place of the
blanket of the other users). `kinds` and `envelope` say what L is, `profile` computes δ, never below the exact number
but for rounding.
"""
