"""The words that shape a sentence but do not say what it is about, in five languages.

A query is searched without them: they match nearly every passage, so they cost time and tell
nothing. The index keeps them for phrases. From other languages than English, only words without an
English meaning are listed: "die", "war", "era" and "comment" are not, since the language of a short
query is anyone's guess.
"""

_ENGLISH = """
a about above after again all also although am among an and any are aren't as at be became because
been before being below between both but by can can't cannot could couldn't did didn't do does
doesn't doing don't during each either else e.g eg etc ever for from further had hadn't has hasn't
have haven't having he he'd he'll he's her here here's hers herself him himself his how how's
however i i'd i'll i'm i've i.e ie if in into is isn't it it's its itself just let's me might more
most must my myself neither no nor not of on only onto or other our ours ourselves out over per
rather shall shan't she she'd she'll she's should shouldn't since so some such than that that's
the their theirs them themselves then there there's therefore these they they'd they'll they're
they've this those though through thus to too toward towards until up upon us very via was wasn't
we we'd we'll we're we've were weren't what what's when when's where where's whether which while
who who's whom whose why why's will with within without won't would wouldn't yet you you'd you'll
you're you've your yours yourself yourselves
"""

_GERMAN = """
aber als auch auf aus bei beim bis da dabei damit dann das daß dass dein deine dem denn der deren
des dessen dich dir doch dort du durch ein eine einem einen einer eines er es euer für gegen gibt
habe haben hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im ist ja jede
jedem jeden jeder jedes jene kann kein keine keinen keiner können könnte mein meine mich mir muss
müssen nach nicht noch nur ob oder ohne sehr sei sein seine seinem seinen seiner seit sich sie
sind sollte sondern soll über um und uns unser unter viele vom von vor wann warum weil welche
welchem welchen welcher welches wem wen wenn wer werden weshalb wie wieso wird wobei woher wohin
wurde wurden würde zu zum zur zwischen
"""

_FRENCH = """
à au aux avaient avait avec avez avons ayant ce ceci cela celle celles celui ces cet cette ceux
chez comme dans de depuis des donc dont du elle elles en entre et étaient était été être eux
furent il ils je jusqu là laquelle le lequel les lesquels leur leurs lorsque lui mais même ne ni
nos notre nous ont où parce pas pendant peut pourquoi puis quand que quel quelle quelles quels qui
quoi sera seront ses sont sous tes très tu une vers vos votre vous
"""

_SPANISH = """
al algo antes aquel aquella bajo cada como cómo cual cuál cuales cuáles cuando cuándo cuanto
cuánto cuantos cuántos del desde donde dónde durante el él ella ellas ellos entre eran eres es esa
ese eso esos esta está están este esto estos estas fue fueron haber había habían hace hacia han
hasta le les lo más me mi mientras muy nada ni nos nosotros nuestra nuestro o otra otro otros para
pero poco por porque pues que qué quien quién quienes se según ser sí sido sobre su sus también
tanto tener tiene tienen tu una unas uno unos usted y ya yo
"""

_RUSSIAN = """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до
его ее её если есть еще ещё же за и из или им их к как какая какие каким какими каких какого какое
какой каком какому какую ко когда который которая которое которые которого которой которых кто
куда ли между меня мне может мы на над надо нас не него нее неё нет ни них но ну о об однако он
она они оно от перед по под после почему при про с сам себя сколько со так также такой там тем то
того тоже той только том тот ты у уже чего чей чем через что чтобы чье чья эта эти этих это этого
этой этом этот эту я
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_RUSSIAN}".split())
