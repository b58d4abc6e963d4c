#!/usr/bin/env python3
"""Writes `languages.jsonl`: texts in the languages of FastEmbed's `Qdrant/bm25`, and their encodings by its own classes.

    python3 -m venv venv
    venv/bin/pip install fastembed==0.9.1 py_rust_stemmers==0.1.8 mmh3==5.3.1
    venv/bin/python make_languages.py

A line has the language (null for `disable_stemmer`), the text, the document as pairs of id and weight sorted by id, and the
ids of the query. No model is downloaded: `Qdrant/bm25` consists of stop word lists, which the crate has.
"""

import json
import random
import tempfile
import unicodedata
from pathlib import Path

from fastembed.sparse.bm25 import Bm25, supported_languages

HERE = Path(__file__).parent
STOP_WORDS = HERE.parent.parent / "src" / "stop_words"

# The first article of the Universal Declaration of Human Rights or a similar sentence, and words with endings.
TEXTS = {
    "arabic": """يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بعضاً بروح الإخاء.
        المكتبات المكتبة مكتبات كتاب كتابان الكتابين يكتبون والكاتبات فالمدرسة مدرستهم بالسيارة للمعلمين استخدامات مُحَمَّد ـ""",
    "danish": """Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed, og de bør
        handle mod hverandre i en broderskabets ånd. undersøgelse undersøgelserne løsning løsningerne venligst hurtighed fejlene""",
    "dutch": """Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren
        zich jegens elkander in een geest van broederschap te gedragen. mogelijkheden lichamelijke opglimpende brandgevaarlijk geëerd ééns""",
    "english": """All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act
        towards one another in a spirit of brotherhood. generalizations running skies dying relational retried""",
    "finnish": """Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on
        toimittava toisiaan kohtaan veljeyden hengessä. taloissammekaan edeltäjiensä kirjastoihin virheilmoituksessa kuukautta""",
    "french": """Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent
        agir les uns envers les autres dans un esprit de fraternité. continuellement majestueusement jeûner qu'il l'erreur ŒUVRES nationalités""",
    "german": """Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander
        im Geist der Brüderlichkeit begegnen. aufeinanderfolgenden Straßen STRASSE Häuser Kategorischen Fehlermeldungen verbrannte Heizöl""",
    "greek": """Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση,
        και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης. ΣΦΑΛΜΑΤΑ ΒΙΒΛΙΟΘΗΚΕΣ βιβλιοθήκης προγραμμάτων εκτελέστηκε""",
    "hungarian": """Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással
        szemben testvéri szellemben kell hogy viseltessenek. hibaüzenetekkel könyvtárakban megszentségteleníthetetlenségeskedéseitekért házunk""",
    "italian": """Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli
        uni verso gli altri in spirito di fratellanza. abbandonandoci pronunciamento l'errore dell'applicazione perché città velocemente""",
    "norwegian": """Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med fornuft og samvittighet og bør
        handle mot hverandre i brorskapets ånd. havnedistriktene opplysningene feilmeldingenes vennlighet løsninger""",
    "portuguese": """Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com
        os outros em espírito de fraternidade. boiássemos quilométricas configurações rapidamente erros mensagens compreensão não""",
    "romanian": """Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Ele sunt înzestrate cu rațiune și conștiință și trebuie să
        se comporte unele față de altele în spiritul fraternității. şi ţară abruptă copiilor biblioteci greșelile utilizatorilor""",
    "russian": """Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в
        отношении друг друга в духе братства. ошибками библиотеках наиважнейшего прочитавшись ЁЛКА ёлки программирование""",
    "spanish": """Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse
        fraternalmente los unos con los otros. chicharrones cancelaciones rápidamente ÁRBOLES comiéndoselo errores bibliotecas""",
    "swedish": """Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete och bör handla gentemot
        varandra i en anda av broderskap. jaktkarlarne felmeddelandena klokheten vänligast lösningarna""",
    "tamil": """மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள். அவர்கள் நியாயத்தையும்
        மனச்சாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள். நூலகங்களில் பிழைகள் மொழியின்""",
    "turkish": """Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik
        zihniyeti ile hareket etmelidirler. DİYARBAKIR kütüphanelerimizden hatalarının ISPARTA ılık çalışıyorlar""",
}

# This text is used in every language, because code is.
CODE = "fn retry_after(E0308, HTTP_404) -> parseJSON::foo the RETRY-99999 _ __x café " + "z" * 40 + " " + "y" * 41


def texts(language, rng):
    text = " ".join(TEXTS[language].split())
    path = STOP_WORDS / f"{language}.txt"
    words = path.read_text(encoding="utf-8").split() if path.exists() else []
    yield from [text, text.upper(), CODE, " ".join(words)]
    # Made-up words from the beginnings and endings of real words.
    known = [word for word in text.lower().split() if word[0].isalpha()] + words
    invented = []
    for _ in range(150):
        first, last = rng.choice(known), rng.choice(known)
        invented.append(first[: rng.randint(1, len(first))] + last[-rng.randint(1, len(last)) :])
    yield " ".join(invented)


def main():
    lines = 0
    with tempfile.TemporaryDirectory() as directory:
        for path in STOP_WORDS.glob("*.txt"):
            (Path(directory) / path.name).write_bytes(path.read_bytes())
        with open(HERE / "languages.jsonl", "w", encoding="utf-8", newline="\n") as file:
            for language in [*supported_languages, None]:
                rng = random.Random(language or "none")
                encoder = Bm25(
                    "Qdrant/bm25",
                    specific_model_path=directory,
                    language=language or "english",
                    disable_stemmer=language is None,
                )
                languages = [language] if language else ["english", "german", "russian", "turkish"]
                all_texts = [text for language in languages for text in texts(language, rng)]
                for text in all_texts:
                    assert all(unicodedata.category(character) != "Cn" for character in text), text
                for text, document, query in zip(all_texts, encoder.embed(all_texts), encoder.query_embed(all_texts)):
                    pairs = zip(document.indices.tolist(), document.values.tolist())
                    line = {
                        "language": language,
                        "text": text,
                        "document": [[id, round(weight, 9)] for id, weight in sorted(pairs)],
                        "query": sorted(query.indices.tolist()),
                    }
                    file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
                    lines += 1
    print(f"{lines} texts; Unicode {unicodedata.unidata_version}")


if __name__ == "__main__":
    main()
