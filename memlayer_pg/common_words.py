"""Words that are capitalised for beginning a sentence, not for being names."""

from __future__ import annotations

ENGLISH = """
i i'm i've i'd i'll me my mine we us our you your he him his she her it its they them their this
that these those the a an and or but nor so if then than as at by for from in into of on to with
without about after before during since until when whenever where wherever why who whom whose what
whatever which how is are was were be been being am do does did done have has had having can could
will would shall should may might must not no yes ok okay hi hello hey thanks thank please sorry
well oh ah wow yeah sure maybe perhaps also just only even still yet again once now today tomorrow
yesterday tonight here there some any every each all both either neither one two three another
other such many much more most few several next actually although because besides however instead
meanwhile moreover otherwise recently sometimes somewhere someone something somebody soon later
though thus therefore unless while everyone everybody everything everywhere never always often
usually really good nice let let's lets tell give show find get got make made take think know
remember remind recommend suggest ask describe explain list name compare can't don't doesn't didn't
isn't aren't wasn't won't wouldn't couldn't shouldn't user assistant system tool human ai agent
customer
"""

DATES = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july
august september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug
sep sept oct nov dec am pm
"""

GERMAN = """
ich du er sie es wir ihr mein meine dein deine sein seine unser der die das ein eine einen einem
und oder aber wenn weil dass wie was wer wo wann warum welche welcher welches ist sind war waren
hat haben hatte kann können will nicht ja nein heute morgen gestern auch im in am auf mit von zu
zum zur bei nach für über
"""

FRENCH = """
je tu il elle on nous vous ils elles mon ma mes ton ta tes son sa ses le la les un une des et ou
mais si que qui quoi quel quelle quels quelles où quand comment pourquoi est sont était ce cette
ces dans pour avec sans sur hier demain
"""

ROMANCE = """
yo tú él ella nosotros ustedes ellos ellas mi tu su el los las una unos unas y o pero si qué quién
cuál cuándo dónde cómo cuánto por para con sin es son está hoy ayer mañana eu ele ela nós você meu
minha seu sua os as um uma e mas se que quem qual quando onde como hoje ontem amanhã io lui lei
noi voi loro il lo gli un uno ma che chi quale dove come perché oggi ieri domani per
"""

RUSSIAN = """
я ты он она оно мы вы они мой моя мои твой твоя его её их наш ваш и или но если что кто где когда
почему как какой какая какие это этот эта не да нет в на с у к по из за от для о об был была были
есть сегодня завтра вчера
"""  # noqa: RUF001

COMMON = frozenset(" ".join((ENGLISH, DATES, GERMAN, FRENCH, ROMANCE, RUSSIAN)).split())
