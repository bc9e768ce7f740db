"""The names of months and days by the number of a language, as spreadsheets write them."""

from typing import NamedTuple


class Names(NamedTuple):
    months: tuple[str, ...]
    short_months: tuple[str, ...]
    days: tuple[str, ...]  # from Monday on
    short_days: tuple[str, ...]
    months_of_days: tuple[str, ...]  # as they are said after the number of a day


def names_in(language: int) -> Names:
    """`language` is a number of Windows, without the bits for the country; English if it is
    unknown."""
    return _BY_LANGUAGE.get(language & 0x3FF, _ENGLISH)


def _names(
    months: str, short_months: str, days: str, short_days: str, months_of_days: str = ""
) -> Names:
    texts = (months, short_months, days, short_days, months_of_days or months)
    return Names(*(tuple(text.split()) for text in texts))


_ENGLISH = _names(
    "January February March April May June July August September October November December",
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "Mon Tue Wed Thu Fri Sat Sun",
)
_BY_LANGUAGE = {
    0x07: _names(  # German
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        "Mo Di Mi Do Fr Sa So",
    ),
    0x0C: _names(  # French
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lun. mar. mer. jeu. ven. sam. dim.",
    ),
    0x0A: _names(  # Spanish
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene feb mar abr may jun jul ago sep oct nov dic",
        "lunes martes miércoles jueves viernes sábado domingo",
        "lun mar mié jue vie sáb dom",
    ),
    0x10: _names(  # Italian
        "gennaio febbraio marzo aprile maggio giugno "
        "luglio agosto settembre ottobre novembre dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "lun mar mer gio ven sab dom",
    ),
    0x16: _names(  # Portuguese
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "jan fev mar abr mai jun jul ago set out nov dez",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
        "seg ter qua qui sex sáb dom",
    ),
    0x13: _names(  # Dutch
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "ma di wo do vr za zo",
    ),
    0x15: _names(  # Polish
        "styczeń luty marzec kwiecień maj czerwiec "
        "lipiec sierpień wrzesień październik listopad grudzień",
        "I II III IV V VI VII VIII IX X XI XII",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela",
        "pon. wt. śr. czw. pt. sob. niedz.",
        "stycznia lutego marca kwietnia maja czerwca "
        "lipca sierpnia września października listopada grudnia",
    ),
    0x19: _names(  # Russian
        "Январь Февраль Март Апрель Май Июнь Июль Август Сентябрь Октябрь Ноябрь Декабрь",
        "янв фев мар апр май июн июл авг сен окт ноя дек",
        "понедельник вторник среда четверг пятница суббота воскресенье",
        "Пн Вт Ср Чт Пт Сб Вс",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    ),
    0x1D: _names(  # Swedish
        "januari februari mars april maj juni juli augusti september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
        "må ti on to fr lö sö",
    ),
    0x06: _names(  # Danish
        "januar februar marts april maj juni juli august september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
        "man tir ons tor fre lør søn",
    ),
    0x14: _names(  # Norwegian
        "januar februar mars april mai juni juli august september oktober november desember",
        "jan. feb. mars april mai juni juli aug. sep. okt. nov. des.",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
        "ma. ti. on. to. fr. lø. sø.",
    ),
    0x0B: _names(  # Finnish
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu "
        "heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu",
        "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu",
        "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai",
        "ma ti ke to pe la su",
        "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta "
        "heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
    ),
    0x05: _names(  # Czech
        "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
        "I II III IV V VI VII VIII IX X XI XII",
        "pondělí úterý středa čtvrtek pátek sobota neděle",
        "po út st čt pá so ne",
        "ledna února března dubna května června července srpna září října listopadu prosince",
    ),
    0x1F: _names(  # Turkish
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
        "Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar",
        "Pzt Sal Çar Per Cum Cmt Paz",
    ),
}
