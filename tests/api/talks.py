"""Three longer conversations, and what is asked about them: question and a piece of the answer."""
# Full-width signs are part of Chinese.
# ruff: noqa: RUF001

from __future__ import annotations

CHINESE = """
上周张伟把公司的年会方案发给我了，预算是八万元
年会场地选在杭州西湖边的望湖宾馆
我跟欧阳静说好了，她负责订蛋糕
诸葛亮亮是我们组新来的实习生，浙江大学毕业的
他的工位在三楼靠窗的位置
我妈妈血压高，每天早上要吃一片氨氯地平
爸爸退休前是中学物理老师
我的车牌是浙A·8K2L6，停在地下二层
下个月十五号要给车做保养
奶奶住在绍兴，每年清明我们都回去
我养了一只橘猫，名字叫年糕
年糕上个月刚打完疫苗，兽医姓何
我在学日语，目标是通过N2考试
考试报名截止到九月三十日
我的航班是CA1715，早上八点从杭州飞北京
在北京要见客户代表司马文博
司马文博喜欢喝普洱，不喝咖啡
合同编号是HT-2026-0091，法务还没盖章
付款方式改成分三期，每期百分之三十左右
我女朋友林晓月在浙一医院当护士
她值夜班的时候我自己做饭
我最拿手的菜是红烧排骨
她不吃香菜，也不吃羊肉
我们打算国庆节去敦煌看莫高窟
敦煌的民宿已经订了，老板叫马师傅
房东说房租从下个月开始涨到四千五
宽带账号是0571-88812345，每月自动扣费
我把备用钥匙放在对门李阿姨家
李阿姨的孙子在练跆拳道
我最近失眠，医生建议睡前不要看手机
公司的VPN地址换成了vpn.hz-tech.cn
测试环境的数据库密码每九十天换一次
周四下午的例会改到了周五上午十点
我报了一个游泳班，教练是退役运动员
游泳馆在滨江区，骑车十五分钟
我的ＷｉＦｉ名称是ＨｏｍｅＮｅｔ５Ｇ
身份证下半年到期，要去派出所换新的
大学室友赵铁柱要结婚了，婚礼在青岛
份子钱准备包一千六
我最喜欢的电影是《霸王别姬》
最近在追一部讲考古的纪录片
""".strip().splitlines()

GERMAN = """
Die Hausverwaltung hat die Nebenkostenabrechnung für 2025 geschickt.
Wir müssen 312,40 Euro nachzahlen, bis zum 15. Mai.
Mein Chef heißt Jürgen Großkopf und sitzt in Düsseldorf.
Seine Assistentin, Frau Weiß, vergibt die Termine.
Ich habe eine Haselnussallergie, Mandeln gehen aber.
Der Zahnarzt hat eine Wurzelbehandlung am unteren Backenzahn gemacht.
Die Geschirrspülmaschine zeigt den Fehlercode E24, das Wasser läuft nicht ab.
Der Monteur vom Kundendienst kommt am Mittwochvormittag.
Unsere Tochter Frieda kommt im September in die Grundschule.
Ihre Klassenlehrerin wird Frau Schäfer.
Zum Geburtstag wünscht sie sich ein Hochbett mit Rutsche.
Der Kindergartenplatz für Jonas ist ab August bestätigt.
Ich fahre mit dem Deutschlandticket zur Arbeit.
Der ICE 704 nach Hamburg hat fast immer Verspätung.
Mein Fahrradschloss hat die Nummer 88-1907.
Der Schlüssel vom Gartenhäuschen hängt hinter der Kellertür.
Im Frühling pflanzen wir Tomaten und Zucchini ins Hochbeet.
Oma Hannelore wohnt im Seniorenstift in Göttingen.
Sie hört schlecht und braucht neue Hörgeräte.
Onkel Dieter hat einen Weinberg an der Mosel.
Unser Steuerberater ist Herr Kühn, Kanzlei Kühn & Söhne.
Die Steuererklärung muss bis Ende Juli beim Finanzamt sein.
Meine IBAN endet auf 4711 und gehört zur Sparkasse Köln.
Wir haben die Kfz-Versicherung zur HUK gewechselt.
Im Winter wollen wir nach Österreich zum Skifahren, ins Zillertal.
Die Ferienwohnung heißt Haus Alpenglühn.
Ich trinke morgens nur Kräutertee, keinen Kaffee.
Meine Frau Kerstin singt im Kirchenchor.
Das Weihnachtskonzert ist am dritten Advent in der Lutherkirche.
Der Nachbar Yılmaz nimmt unsere Pakete an.
Das WLAN-Passwort steht auf dem Zettel am Kühlschrank.
Die Müllabfuhr holt die Biotonne jetzt montags.
Ich lerne gerade Gebärdensprache an der Volkshochschule.
Der Kurs findet im Raum 2.14 statt.
Unser Hund Bärbel ist ein Rauhaardackel.
Die Tierärztin empfiehlt getreidefreies Futter.
Meine E-Mail für die Arbeit ist j.faerber@stadtwerke-koeln.de.
Das Angebot des Dachdeckers liegt bei 18.500 Euro.
Die Solaranlage soll 9,8 Kilowatt leisten.
Am Sonntag kocht mein Schwiegervater Königsberger Klopse.
Den Führerschein muss ich bis 2033 umtauschen.
""".strip().splitlines()

CODE = """
The nightly job exits with code 137 since the move to the new cluster.
That is the OOM killer, the limit of ingest-worker was 512Mi.
I raised it to 2Gi in deploy/helm/values-prod.yaml.
parse_invoice_lines chokes on lines with a trailing semicolon.
The regex in src/billing/lineParser.ts is too greedy.
HttpClientFactory leaks sockets when retryCount is above 3.
We saw SQLSTATE 40P01 twice today, a deadlock between two updaters.
The order of locks in update_inventory.sql is wrong.
Marta Kowalski owns the payments service.
Her review is needed for anything under services/payments/.
The feature flag enable_new_checkout is on for five percent of users.
Upgrade openssl to 3.0.14 because of CVE-2024-5535.
The base image is debian:bookworm-slim now.
Error E1137 in the log means the certificate has expired.
Error E1173 in the log means the clock of the host is off.
MAX_RETRY_COUNT is read from the environment, default 5.
maxRetryDelay is in milliseconds and not in seconds.
The endpoint /api/v2/users/{id}/avatar returns 415 for webp files.
We deprecated /api/v1 on the first of June.
Terraform state lives in s3://acme-tfstate/prod.
The branch hotfix/PAY-2291 must be merged before the release.
Version 4.12.0-rc.2 goes to staging on Monday.
Version 4.11.7 stays in production until then.
git bisect pointed at commit a81f03e, a change of the date parser.
toISOString drops the offset, so the reports are a day off.
The flaky test is tests/e2e/test_login_flow.py::test_sso_redirect.
It waits for the selector #login-btn, which was renamed.
Kafka topic orders.v3.created has twelve partitions.
The consumer group is billing-sync and lags by an hour.
NullPointerException in CartServiceImpl.java line 218.
The cart was null because the session had expired.
Alerts go to pager@acme-ops.io, reports to weekly.report@acme.io.
The staging database listens on port 6543 through pgbouncer.
Use psql -h db-staging.acme.internal to connect.
The macro ASSERT_NEAR_EQ compares with a tolerance of 1e-9.
Our C++ code is compiled with -fno-exceptions.
The node_modules cache is keyed by the hash of pnpm-lock.yaml.
Dependabot opened a pull request for lodash 4.17.21.
The cron expression is 15 3 * * 1-5, so never on weekends.
The Grafana board p99-latency shows a spike at noon.
useDebouncedValue fires once too often on unmount.
""".strip().splitlines()

TALKS = {
    "chinese": (
        CHINESE,
        {
            "年会在哪里办": "望湖宾馆",
            "欧阳静负责什么": "蛋糕",
            "诸葛亮亮": "实习生",
            "司马文博喜欢喝什么": "普洱",
            "谁是新来的实习生？": "浙江大学",
            "妈妈每天吃什么药": "氨氯地平",
            "8K2L6": "车牌",
            "年糕是谁": "橘猫",
            "兽医": "姓何",
            "ca1715": "北京",
            "HT-2026-0091": "法务",
            "林晓月在哪里上班": "浙一医院",
            "女朋友不吃什么": "香菜",
            "国庆去哪儿玩": "莫高窟",
            "房租多少": "四千五",
            "备用钥匙": "李阿姨",
            "vpn.hz-tech.cn": "VPN",
            "homenet5g": "ＨｏｍｅＮｅｔ",
            "赵铁柱的婚礼": "青岛",
            "霸王别姬": "电影",
            "例会什么时候": "周五",
            "N2考试": "日语",
        },
    ),
    "german": (
        GERMAN,
        {
            "Nebenkostenabrechnung": "2025",
            "Wie viel müssen wir nachzahlen?": "312,40",
            "Juergen Grosskopf": "Düsseldorf",
            "großkopf": "Chef",
            "Frau Weiss": "Assistentin",
            "Welche Nüsse vertrage ich nicht?": "Haselnuss",
            "Fehlercode E24": "Geschirrspül",
            "Wann kommt der Monteur?": "Mittwoch",
            "Klassenlehrerin": "Schäfer",
            "Frau Schaefer": "Klassenlehrerin",
            "ICE 704": "Verspätung",
            "88-1907": "Fahrradschloss",
            "Wo ist der Schlüssel vom Gartenhaus?": "Kellertür",
            "Hannelore Göttingen": "Seniorenstift",
            "Herr Kuehn": "Steuerberater",
            "Abgabe der Steuererklärung": "Juli",
            "Oesterreich Skifahren": "Zillertal",
            "Ferienwohnung": "Alpenglühn",
            "Was trinke ich am Morgen?": "Kräutertee",
            "yilmaz": "Pakete",
            "Raum 2.14": "Kurs",
            "Rauhaardackel": "Bärbel",
            "j.faerber@stadtwerke-koeln.de": "E-Mail",
            "Angebot vom Dachdecker": "18.500",
            "Koenigsberger Klopse": "Schwiegervater",
            "Fuehrerschein": "2033",
        },
    ),
    "code": (
        CODE,
        {
            "exit code 137": "nightly",
            "values-prod.yaml": "2Gi",
            "parse_invoice_lines": "semicolon",
            "parse invoice lines": "semicolon",
            "lineParser": "greedy",
            "http client factory leak": "sockets",
            "40P01": "deadlock",
            "update_inventory": "order of locks",
            "who owns payments": "Kowalski",
            "enable_new_checkout": "five percent",
            "CVE-2024-5535": "openssl",
            "openssl version": "3.0.14",
            "E1137": "certificate",
            "E1173": "clock",
            "max_retry_count default": "environment",
            "maxRetryDelay unit": "milliseconds",
            "/api/v2/users avatar": "415",
            "acme-tfstate": "Terraform",
            "PAY-2291": "hotfix",
            "4.12.0-rc.2": "staging",
            "4.11.7": "production",
            "a81f03e": "bisect",
            "toISOString": "offset",
            "test_sso_redirect": "flaky",
            "orders.v3.created": "partitions",
            "CartServiceImpl": "218",
            "pager@acme-ops.io": "Alerts",
            "port 6543": "pgbouncer",
            "ASSERT_NEAR_EQ": "tolerance",
            "no exceptions flag": "fno",
            "pnpm-lock.yaml": "node_modules",
            "lodash": "4.17.21",
            "useDebouncedValue": "unmount",
        },
    ),
}
