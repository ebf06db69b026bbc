"""Answers that nobody writes to be understood: each is refused at once. One in each line, as a recipe."""

from __future__ import annotations

RECIPES = r"""
# deep nesting
"(" * 100
"(" * 499
"(" * 60_000
"(" * 240 + "x" + ")" * 240
"(" * 30_000 + "x" + ")" * 30_000
"[" * 60_000
"[" * 200 + "1" + "]" * 200
"[[" * 100 + "]]" * 100
"((" * 20 + "out.g" + "))" * 20 + ")"
"exp(" * 100 + "out.g" + ")" * 100
"exp(" * 99 + "x"
"out.g[" * 80 + "0" + "]" * 80
"x[" * 200
"sum(" * 90 + "out.g" + ")" * 90
"torch.stack([" * 30 + "out.g" + "])" * 30
"[x for x in " * 40 + "out.g" + "]" * 40
"sum(" * 40 + "x for x in out.g" + ")" * 40
"-" * 499 + "1"
"-" * 60_000 + "1"
"~" * 400 + "(out.g > 0)"
"not " * 120 + "x"
"2**" * 150 + "2"
"2^" * 240 + "2"
"x" + ".T" * 240
"x" + ".T" * 30_000
"out.g" + "[None]" * 80
"out.g" + "[0]" * 160
"out.g" + "[...]" * 110
"out.g" + ".exp()" * 80
"out.g" + ".unsqueeze(0)" * 37
"(" * 20 + "out.g" + ",)" * 20
"((((((((((" + "1," * 200 + "))))))))))"
"{" * 400
"{'a': " * 60 + "1" + "}" * 60
"lambda: " * 60 + "1"
"a if b else " * 40 + "c"
"f(" * 60_000
# huge numbers and exponents
"9" * 400
"9" * 60_000
"1e400"
"1e999999999"
"-1e999"
"1e-" + "9" * 400
"0." + "1" * 480
"1_" * 240 + "1"
"9**9**9**9"
"9**9**9**9**9**9**9**9"
"10**10**10"
"10^10^10"
"(9**64)**64"
"((9**64)**64)**64"
"2**(2**(2**(2**(2**2))))"
"2**1e300"
"2**-1e300 / 0"
"out.g ** 1e9"
"out.g ** out.g ** 99"
"1e300 * 1e300"
"1e308 + 1e308 + 1e308"
"exp(1e6)"
"exp(exp(exp(exp(9))))"
"math.exp(710)"
"pow(9, pow(9, pow(9, 9)))"
"math.factorial(100000)"
"factorial(99999999)"
"0x" + "f" * 400
"1/0"
"1/(1 - 1)"
"0/0"
"0**-1"
"-1**0.5/0"
"(-8)**0.5"
"log(0)"
"log(-1)"
"sqrt(-1)"
"inf"
"-inf"
"nan"
"float('inf')"
"float('nan')"
"torch.inf - torch.inf"
"1e308 * 10 - 1e308 * 10"
"10⁹⁹⁹⁹⁹⁹⁹⁹"
"9⁹⁹⁹ * 9⁹⁹⁹"
"1" + "0" * 300 + "%"
# arrays far too large
"torch.ones(1e9)"
"torch.ones(99999, 99999)"
"torch.zeros(10**12)"
"torch.ones(300, 300, 300)"
"torch.eye(1e9)"
"eye(1e300)"
"eye(-1)"
"torch.eye(100000)"
"torch.full((10**5, 10**5), 1)"
"torch.arange(1e18)"
"torch.arange(0, 1, 1e-18)"
"torch.arange(0, 1, 0)"
"torch.linspace(0, 1, 10**15)"
"range(10**18)"
"sum(range(10**18))"
"[1] * 10**9"
"(1,) * 10**9"
"[1, 2] * 99999999"
"'a' * 10**9"
"[0 for i in range(10**9)]"
"sum(1 for i in range(10**9))"
"sum(sum(sum(1 for k in range(9999)) for j in range(9999)) for i in range(9999))"
"sum(i * j for i in range(5000) for j in range(5000))"
"[[[[0 for i in range(99)] for j in range(99)] for k in range(99)] for l in range(99)]"
"out.g.repeat(10**9)"
"out.g.repeat(99999, 99999)"
"out.g.expand(10**9, -1)"
"torch.tile(out.g, (10**6, 10**6))"
"np.repeat(out.g, 10**12)"
"out.g.repeat_interleave(10**10)"
"torch.kron(torch.ones(300), torch.ones(3000))"
"torch.outer(torch.ones(9999), torch.ones(9999))"
"torch.diag(torch.ones(99999))"
"torch.diag(out.g, 10**5)"
"torch.diag(torch.ones(3), 10**9)"
"np.diag([1, 2], -99999)"
"torch.broadcast_to(out.g, (10**9, 9))"
"torch.ones(1, 99999) + torch.ones(99999, 1)"
"torch.ones(1, 99999) * torch.ones(99999, 1)"
"torch.where(torch.ones(1, 99999) > 0, torch.ones(99999, 1), 0)"
"torch.cat([torch.ones(99999)] * 99999)"
"@".join(["eye(300)"] * 45)
"@".join(["torch.ones(300, 300)"] * 20)
"torch.ones(99, 99, 9) @ torch.ones(9, 9, 9999)"
"torch.linalg.multi_dot([" + ", ".join(["eye(300)"] * 30) + "])"
"outer(outer(outer(out.g, out.g), outer(out.g, out.g)), outer(outer(out.g, out.g), outer(out.g, out.g)))"
"+".join(["torch.ones(99999)"] * 25)
"+".join(["exp(torch.ones(99999))"] * 20)
"**".join(["torch.ones(99999)"] * 20)
"*".join(["torch.ones(300, 300)"] * 22)
"torch.ones(99999).sort().values.sort().values.sum() + torch.ones(9999999)"
"torch.cumsum(torch.ones(99999, 9), 0)"
"torch.ones(" + "1, " * 150 + "1)"
"out.g.reshape(" + "1, " * 150 + "-1)"
"out.g[" + "None, " * 80 + "]"
"out.g.view(" + "-1, " * 90 + "-1)"
"torch.stack([" + "out.g, " * 65 + "])" + ".sum(7)"
# einsum
"torch.einsum('" + "a" * 400 + "', out.g)"
"torch.einsum('" + "a" * 5000 + "->', out.g)"
"torch.einsum('" + ",".join("abcdefghijklmnopqrstuvwxyz") + "->', " + ", ".join(["out.g"] * 26) + ")"
"torch.einsum('a,b,c,d,e,f,g,h,i,j,k,l->abcdefghijkl', " + ", ".join(["out.g"] * 12) + ")"
"torch.einsum('a,b,c,d,e,f,g,h,i,j,k,l->', " + ", ".join(["torch.ones(99)"] * 12) + ")"
"torch.einsum('a,b->ab', torch.ones(9999), torch.ones(9999))"
"torch.einsum('ij,jk,kl,lm->im', eye(99), eye(99), eye(99), eye(99))"
"torch.einsum('->', out.g)"
"torch.einsum('', out.g)"
"torch.einsum('i->ijklmnop', out.g)"
"torch.einsum('i->ii', out.g)"
"torch.einsum('i-->i', out.g)"
"torch.einsum('i->i->i', out.g)"
"torch.einsum('...............', out.g)"
"torch.einsum('i" + " " * 300 + "->i', out.g, out.g)"
"torch.einsum('" + "," * 300 + "', out.g)"
"torch.einsum(out.g, [0], [0], [0])"
"torch.einsum(eval('1'), out.g)"
"torch.einsum('\u0130->\u0130', out.g, 1)"
"torch.einsum('%s' * 99, out.g)"
"torch.einsum('i->i', " + "out.g, " * 60 + ")"
# not a formula, but a program
"__import__('os').system('id')"
"eval('1')"
"exec('x = 1')"
"open('/etc/passwd').read()"
"os.system('id')"
"import os"
"import os; os.system('id')"
"from os import *"
"().__class__.__bases__[0].__subclasses__()"
"out.g.__class__"
"out.g.__class__.__init__.__globals__"
"torch.__dict__"
"torch.os.system('id')"
"torch.load('x')"
"torch.save(out.g, 'x')"
"np.load('x')"
"np.fromfile('x')"
"np.memmap('x')"
"out.g.tofile('x')"
"out.g.numpy().dump('x')"
"out.g.apply_(print)"
"out.g.register_hook(print)"
"torch.ops.aten.mul(out.g, 2)"
"torch.jit.script(x)"
"torch.autograd.grad(out, inp)"
"getattr(out, 'g')"
"globals()"
"breakpoint()"
"input()"
"print(out.g)"
"exit()"
"raise SystemExit"
"while True: pass"
"for i in range(9): pass"
"def f(x): return f(x)\nf(1)"
"(lambda f: f(f))(lambda f: f(f))"
"(x := 3)"
"x = x = x = x = x"
"=".join(["x"] * 200)
"x = x; " * 70
"; ".join(f"a{i} = a{i - 1} + a{i - 1}" if i else "a0 = torch.ones(999)" for i in range(25)) + "; a24 @ a0"
"a = torch.ones(300, 300); " + "a = a @ a; " * 40 + "a"
"a = (out.g, out.g); " + "a = (a, a); " * 30 + "a"
"a = [1]; " + "a = a + a; " * 40 + "len(a)"
"a = 'ij'; " + "a = a + a; " * 40 + "a"
"a = out.g[None]; " + "a = torch.cat([a, a]); " * 17 + "a"
"a = 9; " + "a = a**9; " * 30 + "a"
"a = 99999999; " + "a = a*a; " * 40 + "a"
"%" * 400
"f'{out.g}'"
"'" * 500
'"' * 501
"'" + "x" * 480
"r'" + "\\" * 400
# heaps of signs
"+" * 500
"*" * 500
"@" * 60_000
"+-*/" * 120
"**" * 240
"." * 500
".." * 200 + "g"
"," * 500
":" * 500
";" * 500
"=" * 500
"#" * 500
"\\" * 500
"?" * 500
"&|^~" * 120
"<>" * 240
"<" * 500
"out.g <" * 80 + " 1"
"%%%%" * 100
"!" * 400
"$" * 499
" " * 499
"\n" * 499
"\t" * 499
"\n" * 60_000
" " * 60_000 + "x"
"x" * 60_000
"x " * 30_000
"1 " * 240
"a" * 41
"a." * 240 + "b"
"1+" * 30_000 + "1"
"1," * 30_000
"x*" * 240 + "x"
"inp+" * 120 + "inp" + "()" * 3
"abc def " * 7_500
"0" * 60_000 + "x"
"e" * 500
"1e" * 240
"1.1.1.1" * 70
# strange letters
"\u200b" * 400
"x\u200b"
"\u202ex\u202c"
"\ufeff" * 99
"a\u0301" * 200
"a" + "\u0301" * 490
"x" + "\u0338" * 5000
"Z\u0351\u0327\u0330" * 120
"\U0001f600" * 400
"\U000e0001" * 100
"еxp(out.g)"
"оut.g"
"ｏｕｔ.ｇ"
"out․g"
"ⅷ + ⅸ"
"①②③"
"௧௨௩"
"٣٤٥"
"𝟜𝟝"
"½" * 400
"²" * 400
"√" * 400
"√" * 30_000 + "2"
"π" * 400
"ﷺ" * 400
"x\x00"
"\x00" * 400
"x\x1b[31m"
"\x1b]0;x\x07"
"\x7f" * 100
"\ud800"
"\ud800" * 300
"\uffff" * 300
"ß" * 400
"ŉ" * 400
"ᵀ" * 400
"'" * 3 + "ᵀ" * 90
# other formats
"$" + "\\frac{" * 80 + "$"
"\\frac{a}{b}"
"<script>alert(1)</script>"
"<a" * 200
"&lt;" * 120
"!!python/object/apply:os.system [id]"
"&a [*a, *a]"
"*a"
"{{7*7}}"
"${7*7}"
"%(x)s" * 90
"../../../etc/passwd"
"file:///etc/passwd"
"' OR 1=1 --"
"\"; DROP TABLE quiz; --"
"=cmd|' /C calc'!A0"
"Traceback (most recent call last):" * 14
"Error" * 99 + "x"
"error " * 80 + "1"
"RuntimeErrorRuntimeErrorRuntimeError" * 10
"tensor(" * 100
"tensor(" * 60 + "4" + ")" * 60 + "x"
"torch.Size(" * 40 + "[1]" + ")" * 40
"(" + "bs, " * 120 + "n)"
"bs x " * 99 + "n"
"n x " * 20_000
"[" + "1, " * 160 + "]"
"(" + ", " * 240 + ")"
"same as " * 60
"the shape of " * 38
"x.shape" + "[0]" * 150
"x.shape" + "[:1]" * 110
"x.shape * 99999999"
"(*x.shape, " * 40 + "1" + ")" * 40
"x.shape + " * 49 + "x.shape"
# what is no whole number, where one is needed
"out.g['a':]"
"out.g[nan:]"
"out.g[1e999:]"
"out.g[out.g:]"
"out.g[(1, 2):]"
"out.g[1.5:]"
"out.g[1:]['5':]"
"out.g.norm(p=0)"
"einsum(out.g, 'a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb')"
"""

ANSWERS = tuple(line for line in RECIPES.splitlines() if line and not line.startswith("# "))
